package verify

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

const caseClip = 0.2

// caseRollout is actions drawn from the logits that a Case has for x, with probabilities that have changed since: the
// ratios are inside 1 ± ε and outside on both sides, under advantages of both signs.
func caseRollout() (r Rollout, returns, baseline Matrix[float64]) {
	const n = fixtureBatch * fixtureTokens
	r.Actions = []int{2, 7, 0, 1, 2, 5, 6, 3, 3, 4, 1, 0}
	r.Weights = Random("weights", n, 1).Shift(0.6)
	r.Weights.Data[3] = 0
	baseline = Random("baseline", n, 1)
	r.Advantages, r.LogProbs = Zeros[float64](n, 1), Zeros[float64](n, 1)
	now := logProbs(Random(input, n, fixtureFeatures).Scale(4), r.Actions)
	for i := range n {
		ratio := []float64{0.5, 0.9, 1.1, 1.6}[i%4]
		r.LogProbs.Data[i] = now.Data[i] - math.Log(ratio)
		r.Advantages.Data[i] = []float64{1.3, -0.7, 0.4}[i%3]
	}
	return r, r.Advantages.Add(baseline), baseline
}

// declare feeds the rollout to a layer.
func declare(at nn.Site, r Rollout, returns, baseline Matrix[float64]) nn.Rollout {
	out := nn.NewRollout(at.Scope, len(r.Actions), at.Embd)
	copy(out.Actions.Ints(), r.Actions)
	fill(out.Returns, returns)
	fill(out.Weights, r.Weights)
	fill(out.LogProbs, r.LogProbs)
	if !baseline.None() {
		out.Baseline = at.Value("baseline", func(i int, _ *rand.Rand) float64 { return baseline.Data[i] }, len(r.Actions), 1)
	}
	return out
}

func policyCases() []Case {
	r, returns, baseline := caseRollout()
	none := Matrix[float64]{}
	reinforce := func(at nn.Site, x graph.Expr, r nn.Rollout) graph.Expr {
		return nn.NewReinforce(at.Scope).Forward(x, r)
	}
	ppo := func(at nn.Site, x graph.Expr, r nn.Rollout) graph.Expr {
		l := nn.NewPPOClip(at.Scope)
		l.Clip = caseClip
		return l.Forward(x, r)
	}
	byReinforce := func(z Matrix[complex128]) Matrix[complex128] { return ReinforceForward(z, r) }
	back := func(z Matrix[float64]) Matrix[float64] { return ReinforceBackward(z, r) }
	byPPO := func(z Matrix[complex128]) Matrix[complex128] { return PPOForward(z, r, caseClip) }
	backPPO := func(z Matrix[float64]) Matrix[float64] { return PPOBackward(z, r, caseClip) }
	return []Case{
		policyCase("I55", "reinforce", "Reinforce", "Diab §2.6", r, r.Advantages, none, reinforce, byReinforce, back),
		policyCase("I55", "reinforce with a baseline", "Reinforce", "Diab §2.6", r, returns, baseline, reinforce, byReinforce, back),
		valueCase(r, returns),
		policyCase("I56", "ppo, ratios on all sides of the clip", "PPOClip", "Diab §2.6, Schulman et al. 2017", r, r.Advantages, none, ppo, byPPO, backPPO),
		policyCase("I56", "ppo with a baseline", "PPOClip", "Diab §2.6, Schulman et al. 2017", r, returns, baseline, ppo, byPPO, backPPO),
	}
}

// policyCase takes x for logits of as many actions as it has features.
func policyCase(id, name, kind, source string, r Rollout, returns, baseline Matrix[float64],
	build func(nn.Site, graph.Expr, nn.Rollout) graph.Expr,
	forward func(Matrix[complex128]) Matrix[complex128], backward func(Matrix[float64]) Matrix[float64]) Case {
	return Case{
		ID: id, Name: name, Types: []string{kind}, Source: source,
		Build:   func(at nn.Site, x graph.Expr) graph.Expr { return build(at, x, declare(at, r, returns, baseline)) },
		Forward: func(p Parameters[complex128]) Matrix[complex128] { return forward(p[input]) },
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: backward(p[input]).Mul(delta)}
		},
	}
}

func valueCase(r Rollout, returns Matrix[float64]) Case {
	return Case{
		ID: "I55", Name: "value function and its loss", Types: []string{"ValueHead", "ValueLoss"}, Source: "Diab §2.6",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			v := nn.NewValueHead(at.At("value")).Forward(x)
			return nn.NewValueLoss(at.Scope).Forward(v, declare(at, r, returns, Matrix[float64]{}))
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return ValueLossForward(LinearForward(p[input], p["value.weight"], p["value.bias"]), returns, r.Weights)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			v := LinearForward(p[input], p["value.weight"], p["value.bias"])
			dx, dw, db := LinearBackward(p[input], p["value.weight"], ValueLossBackward(v, returns, r.Weights).Mul(delta))
			return Parameters[float64]{input: dx, "value.weight": dw, "value.bias": db}
		},
	}
}
