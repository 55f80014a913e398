package cases

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const clip = 0.2 // ε of PPO

func rewards[T hand.Number](n fixture.Sizes) []entry[T] {
	r, returns, baseline := rollout(n)
	reinforce := policy[T]{
		"Reinforce", "Diab §2.6", fixed[T](hand.Reinforce[T]{Rollout: r}),
		func(at nn.Site, x graph.Expr, r nn.Rollout) graph.Expr {
			return nn.NewReinforce(at.Scope).Forward(x, r)
		},
	}
	ppo := policy[T]{
		"PPOClip", "Diab §2.6, Schulman et al. 2017", fixed[T](hand.PPO[T]{Rollout: r, Clip: clip}),
		func(at nn.Site, x graph.Expr, r nn.Rollout) graph.Expr {
			l := nn.NewPPOClip(at.Scope)
			l.Clip = clip
			return l.Forward(x, r)
		},
	}
	penalised := hand.GRPO[T]{
		PPO: hand.PPO[T]{Rollout: r, Clip: clip}, Beta: 0.4, Reference: r.LogProbs.Scale(1.2).Shift(0.1),
	}
	grpo := policy[T]{
		"GRPO", "Shao et al. 2024, equations 3 and 4", fixed[T](penalised),
		func(at nn.Site, x graph.Expr, r nn.Rollout) graph.Expr {
			l := nn.NewGRPO(at.Scope)
			l.Clip, l.Beta = clip, penalised.Beta
			r.Reference = at.Value("reference", given(penalised.Reference), len(r.Actions.Ints()), 1)
			return l.Forward(x, r)
		},
	}
	ratios := "Schulman et al. 2017; Diab section 2.6 names it"
	return []entry[T]{
		{verify.Entry{ID: "I55", What: "REINFORCE", Source: "Diab section 2.6"}, []formula[T]{
			reinforce.on("reinforce", r, r.Advantages, matrix{}),
			reinforce.on("reinforce with a baseline", r, returns, baseline),
			value[T](r, returns),
		}},
		{verify.Entry{ID: "I56", What: "PPO with a clipped ratio", Source: ratios}, []formula[T]{
			ppo.on("ppo, ratios on all sides of the clip", r, r.Advantages, matrix{}),
			ppo.on("ppo with a baseline", r, returns, baseline),
		}},
		{verify.Entry{ID: "I116", What: "GRPO with a penalty", Source: "Shao et al. 2024"}, []formula[T]{
			grpo.on("grpo, ratios on all sides of the clip", r, r.Advantages, matrix{}),
		}},
		{verify.Entry{ID: "I117", What: "direct preference optimization", Source: "Rafailov et al. 2023"},
			[]formula[T]{preferences[T](n)}},
	}
}

// preferences returns a Case of DPO. The logits are x and −x/2, one below the other: the number of texts is even.
func preferences[T hand.Number](n fixture.Sizes) formula[T] {
	texts, targets := 2*n.Batch, slices.Concat(choices(n), choices(n))
	targets[0], targets[len(targets)-1] = hand.Ignore, hand.Ignore
	by := hand.DPO[T]{Targets: targets, Reference: fixture.Random("reference", texts, 1).Shift(-9), Beta: 0.3}
	both := factors[T]{by, []float64{1, -0.5}}
	return formula[T]{verify.Case{
		Name: "dpo, two texts for each prompt", Types: []string{"DPO"}, Source: "Rafailov et al. 2023, equation 7",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			l := nn.NewDPO(at.Scope, texts)
			l.Beta = by.Beta
			rows := len(targets) / 2
			order, factor := make([]int, 2*rows), make([]float64, 2*rows)
			for i := range order {
				order[i], factor[i] = i%rows, both.list[i/rows]
			}
			logits := x.Gather(declare(at, "order", rows, graph.NoneIgnored, order)).
				Mul(at.Value("factor", given(hand.NewMatrix(2*rows, 1, factor...)), 2*rows, 1))
			return l.Forward(logits, declare(at, "targets", at.Embd, hand.Ignore, targets),
				at.Value("reference", given(by.Reference), texts, 1))
		},
	}, fixed[T](both)}
}

// given returns the initial values of a matrix.
func given(x matrix) func(int, *rand.Rand) float64 {
	return func(i int, _ *rand.Rand) float64 { return x.Data[i] }
}

// rollout returns actions drawn from the logits x of a Case, with probabilities that have changed since: the ratios lie
// inside 1 ± ε and outside on both sides, under advantages of both signs.
func rollout(n fixture.Sizes) (r hand.Rollout, returns, baseline matrix) {
	r.Actions = choices(n)
	tokens := len(r.Actions)
	r.Weights = fixture.Random("weights", tokens, 1).Shift(0.6)
	r.Weights.Data[min(3, tokens-1)] = 0
	baseline = fixture.Random("baseline", tokens, 1)
	r.Advantages, r.LogProbs = hand.Zeros[float64](tokens, 1), hand.Zeros[float64](tokens, 1)
	logits := fixture.Random(input, tokens, n.Features).Scale(4)
	total := logits.LogSumExp()
	for i, action := range r.Actions {
		ratio := []float64{0.5, 0.9, 1.1, 1.6}[i%4]
		r.LogProbs.Data[i] = logits.At(i, action) - total.At(i, 0) - math.Log(ratio)
		r.Advantages.Data[i] = []float64{1.3, -0.7, 0.4}[i%3]
	}
	return r, r.Advantages.Add(baseline), baseline
}

// feed declares the rollout.
func feed(at nn.Site, r hand.Rollout, returns, baseline matrix) nn.Rollout {
	out := nn.NewRollout(at.Scope, len(r.Actions), at.Embd)
	copy(out.Actions.Ints(), r.Actions)
	for i := range r.Actions {
		out.Returns.Tensor().Set(i, returns.Data[i])
		out.Weights.Tensor().Set(i, r.Weights.Data[i])
		out.LogProbs.Tensor().Set(i, r.LogProbs.Data[i])
	}
	if !baseline.None() {
		out.Baseline = at.Value("baseline", given(baseline), len(r.Actions), 1)
	}
	return out
}

// policy describes an objective.
type policy[T hand.Number] struct {
	kind, source string
	layer        layer[T]
	build        func(nn.Site, graph.Expr, nn.Rollout) graph.Expr
}

// on returns a Case of the objective. The features of x serve as the logits of the actions.
func (l policy[T]) on(name string, r hand.Rollout, returns, baseline matrix) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{l.kind}, Source: l.source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr { return l.build(at, x, feed(at, r, returns, baseline)) },
	}, l.layer}
}

func value[T hand.Number](r hand.Rollout, returns matrix) formula[T] {
	return formula[T]{verify.Case{
		Name: "value function and its loss", Types: []string{"ValueHead", "ValueLoss"}, Source: "Diab §2.6",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			v := nn.NewValueHead(at.At("value")).Forward(x)
			return nn.NewValueLoss(at.Scope).Forward(v, feed(at, r, returns, matrix{}))
		},
	}, valueLoss[T](r, returns)}
}

func valueLoss[T hand.Number](r hand.Rollout, returns matrix) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		loss := hand.ValueLoss[T]{Returns: returns, Weights: r.Weights}
		return sequence[T]{{"value", at.At("value").Linear()}, {"loss", loss}}
	}
}
