package cases

import (
	"math"
	"math/rand/v2"

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
	}
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
		values := func(i int, _ *rand.Rand) float64 { return baseline.Data[i] }
		out.Baseline = at.Value("baseline", values, len(r.Actions), 1)
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
