package nn

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// rollout returns some actions for n rows of v, with positive and negative returns and with weights, some of which are
// 0. For the actions drawn from logits, the ratios are on all sides of 1 ± 0.2.
func rollout(s graph.Scope, n, v int) Rollout {
	r := NewRollout(s, n, v)
	for i := range n {
		r.Actions.Ints()[i] = (i*i + 3) % v
		r.Returns.Tensor().Set(i, math.Sin(float64(3*i+1)))
		r.Weights.Tensor().Set(i, float64((i+1)%3)/2)
		r.LogProbs.Tensor().Set(i, -math.Log(float64(v))+math.Sin(float64(7*i)))
	}
	return r
}

var policyLayerCases = []layerCase{
	{"reinforce", "Reinforce", func(at Site, x graph.Expr) graph.Expr {
		return NewReinforce(at.Scope).Forward(x, rollout(at.Scope, at.Batch*at.Context, at.Embd))
	}},
	{"reinforce with a learned baseline", "Reinforce ValueHead ValueLoss", func(at Site, x graph.Expr) graph.Expr {
		r := rollout(at.Scope, at.Batch*at.Context, at.Embd)
		r.Baseline = NewValueHead(at.At("value")).Forward(x)
		return NewReinforce(at.Scope).Forward(x, r).Add(NewValueLoss(at.Scope).Forward(r.Baseline, r))
	}},
	{"ppo", "PPOClip", func(at Site, x graph.Expr) graph.Expr {
		return NewPPOClip(at.Scope).Forward(x, rollout(at.Scope, at.Batch*at.Context, at.Embd))
	}},
	{"ppo with a learned baseline", "PPOClip ValueHead ValueLoss", func(at Site, x graph.Expr) graph.Expr {
		r := rollout(at.Scope, at.Batch*at.Context, at.Embd)
		r.Baseline = NewValueHead(at.At("value")).Forward(x)
		return NewPPOClip(at.Scope).Forward(x, r).Add(NewValueLoss(at.Scope).Forward(r.Baseline, r))
	}},
}

// A baseline is a constant for the policy's objective: it gets a gradient only from its own loss.
func TestI55BaselineGetsNoGradient(t *testing.T) {
	for name, objective := range map[string]func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr{
		"reinforce": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr { return NewReinforce(s).Forward(z, r) },
		"ppo":       func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr { return NewPPOClip(s).Forward(z, r) },
	} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			z, v := g.Root().Value("z", graph.Normal(1), 4, 5), g.Root().Param("v", graph.Normal(1), 4, 1)
			r := rollout(g.Root(), 4, 5)
			r.Baseline = v
			loss := objective(g.Root(), z, r).Add(NewValueLoss(g.Root()).Forward(v, r))
			grad := run(t, loss, z, v).Grad(v)
			var weights float64
			for _, w := range r.Weights.Tensor().F64 {
				weights += w
			}
			for i, w := range r.Weights.Tensor().F64 {
				want := 2 * w * (v.Tensor().F64[i] - r.Returns.Tensor().F64[i]) / weights
				if got := grad.F64[i]; !(math.Abs(got-want) <= 1e-15) {
					t.Errorf("%s, kernels %t: ∂v[%d] = %v, want %v", name, kernels, i, got, want)
				}
			}
			if _, err := graph.Compile(objective(g.Sibling().Root(), z, r), v); err == nil {
				t.Errorf("%s, kernels %t: v has a gradient", name, kernels)
			}
		}
	}
}

func TestPolicyErrors(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	z := g.Root().Value("z", graph.Const(0), 4, 5)
	_, err := graph.Compile(NewReinforce(g.Root().Sub("loss")).Forward(z, NewRollout(g.Root(), 3, 5)))
	if err == nil || !strings.Contains(err.Error(), "loss: reinforce") || !strings.Contains(err.Error(), "3 numbers for 4 rows") {
		t.Errorf("got error %v, want the layer and both numbers", err)
	}
	g = graph.New(graph.Float32, 1)
	z = g.Root().Value("z", graph.Const(0), 4, 5)
	_, err = graph.Compile(NewPPOClip(g.Root()).Forward(z, NewRollout(g.Root(), 4, 6)))
	if err == nil || !strings.Contains(err.Error(), "ids up to 5 for 5 actions") {
		t.Errorf("got error %v, want both numbers", err)
	}
}

// An action must exist, even in a row whose weight is 0.
func TestPolicyRefusesActions(t *testing.T) {
	for name, objective := range map[string]func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr{
		"reinforce": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr { return NewReinforce(s).Forward(z, r) },
		"ppo":       func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr { return NewPPOClip(s).Forward(z, r) },
	} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float32, 1)
			g.Kernels = kernels
			r := NewRollout(g.Root(), 4, 5)
			p, err := graph.Compile(objective(g.Root(), g.Root().Value("z", graph.Const(0), 4, 5), r))
			if err != nil {
				t.Fatal(err)
			}
			r.Weights.Tensor().Set(2, 0)
			for _, action := range []int{-1, 5} {
				r.Actions.Ints()[2] = action
				want := fmt.Sprintf("actions[2] is %d, not in 0 … 4", action)
				if err := p.Run(); err == nil || err.Error() != want {
					t.Errorf("%s, kernels %t: got error %v, want %s", name, kernels, err, want)
				}
			}
		}
	}
}

// The clip is the published one unless the caller changes it.
func TestPPOClipDefault(t *testing.T) {
	if l := NewPPOClip(graph.New(graph.Float64, 1).Root()); l.Clip != 0.2 {
		t.Errorf("got ε = %v, want 0.2", l.Clip)
	}
}
