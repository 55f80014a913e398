package nn

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// losses holds all losses, as functions of logits z (n, v).
var losses = map[string]func(s graph.Scope, z, targets graph.Expr, r Rollout) graph.Expr{
	"cross entropy": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return NewCrossEntropy(s).Forward(z, targets)
	},
	"cross entropy, a sum": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return (&CrossEntropy{Sum: true, scope: s}).Forward(z, targets)
	},
	"reinforce": func(s graph.Scope, z, _ graph.Expr, r Rollout) graph.Expr { return NewReinforce(s).Forward(z, r) },
	"reinforce with a baseline": func(s graph.Scope, z, _ graph.Expr, r Rollout) graph.Expr {
		r.Baseline = z.Mean()
		return NewReinforce(s).Forward(z, r)
	},
	"ppo": func(s graph.Scope, z, _ graph.Expr, r Rollout) graph.Expr { return NewPPOClip(s).Forward(z, r) },
	"ppo with a baseline": func(s graph.Scope, z, _ graph.Expr, r Rollout) graph.Expr {
		r.Baseline = z.Mean()
		return NewPPOClip(s).Forward(z, r)
	},
	"squared error": func(s graph.Scope, z, _ graph.Expr, _ Rollout) graph.Expr {
		return NewSquaredError(s).Forward(z, z.Square().Scale(0.3)) // by both
	},
	"binary cross entropy": func(s graph.Scope, z, _ graph.Expr, _ Rollout) graph.Expr {
		return NewBinaryCrossEntropy(s).Forward(z, z.Square().Scale(0.3))
	},
	"value": func(s graph.Scope, z, _ graph.Expr, r Rollout) graph.Expr {
		return NewValueLoss(s).Forward(z.Mean(), r)
	},
}

// formulas combine a loss l with another one k. If the loss is not the last operation, its backward pass must use the
// incoming gradient.
var formulas = map[string]func(l, k graph.Expr) graph.Expr{
	"l":             func(l, _ graph.Expr) graph.Expr { return l },
	"-3l":           func(l, _ graph.Expr) graph.Expr { return l.Scale(-3) },
	"0·l":           func(l, _ graph.Expr) graph.Expr { return l.Scale(0) },
	"l + k":         func(l, k graph.Expr) graph.Expr { return l.Add(k) },
	"0.3k + l":      func(l, k graph.Expr) graph.Expr { return k.Scale(0.3).Add(l) },
	"l + l":         func(l, _ graph.Expr) graph.Expr { return l.Add(l) },
	"k·l":           func(l, k graph.Expr) graph.Expr { return k.Mul(l) },
	"l²":            func(l, _ graph.Expr) graph.Expr { return l.Square() },
	"eˡ/10 - 2k":    func(l, k graph.Expr) graph.Expr { return l.Exp().Scale(0.1).Sub(k.Scale(2)) },
	"l, in a shape": func(l, _ graph.Expr) graph.Expr { return l.Reshape(1, 1).Scale(2).SumAll() },
	"l, detached":   func(l, k graph.Expr) graph.Expr { return l.Detach().Mul(k).Add(l) },
	"2l, a kernel": func(l, _ graph.Expr) graph.Expr {
		if y, ok := graph.Scale(l, 2); ok {
			return y
		}
		return l.Scale(2)
	},
}

// Value and gradient of every formula with every pair of losses equal those of the reference form, in float64 and
// float32.
func TestLossesInFormulas(t *testing.T) {
	const n, v = 7, 5
	for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
		tol := 1e-12
		if dtype == graph.Float32 {
			tol = 2e-5
		}
		for name, loss := range losses {
			for other, second := range losses {
				for what, formula := range formulas {
					if other != "cross entropy" && (what != "k·l" || dtype == graph.Float32) {
						continue // the second loss matters little there
					}
					var sides [2][]float64
					for side := range sides {
						g := graph.New(dtype, 1)
						g.Kernels = side == 1
						s := g.Root()
						z, targets, r := s.Param("z", graph.Normal(1), n, v), s.Ints("targets", n, v, -1), rollout(s, n, v)
						copy(targets.Ints(), []int{2, 0, -1, 4, 1, 1, 3})
						y := formula(loss(s.Sub("l"), z.Scale(1.1), targets, r), second(s.Sub("k"), z.Scale(0.9), targets, r))
						p := run(t, y, z)
						sides[side] = append(p.Grad(z).Floats(), p.Loss())
					}
					size := 1e-3
					for _, x := range sides[0] {
						size = max(size, math.Abs(x))
					}
					for i, want := range sides[0] {
						if got := sides[1][i]; !(math.Abs(got-want) <= tol*size) {
							t.Errorf("%v: %s with l %s, k %s, entry %d: got %v, want %v", dtype, what, name, other, i, got, want)
							break
						}
					}
				}
			}
		}
	}
}
