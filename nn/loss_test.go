package nn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// losses holds all losses, as functions of logits z (n, v).
var losses = map[string]func(s graph.Scope, z, targets graph.Expr, r Rollout) graph.Expr{
	"cross entropy": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return NewCrossEntropy(s).Forward(z, targets)
	},
	"cross entropy, a sum": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return (&CrossEntropy{Sum: true, scope: s}).Forward(z, targets)
	},
	"cross entropy, regularised": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return (&CrossEntropy{Smoothing: 0.2, ZLoss: 0.3, scope: s}).Forward(z, targets)
	},
	"multi-token": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return NewMultiToken(s, 8).Forward([]graph.Expr{z, z.Square(), z.Scale(-0.3)}, targets)
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
	"grpo": func(s graph.Scope, z, _ graph.Expr, r Rollout) graph.Expr {
		r.Reference = r.LogProbs.Scale(0.9)
		return NewGRPO(s).Forward(z, r)
	},
	"dpo": func(s graph.Scope, z, targets graph.Expr, _ Rollout) graph.Expr {
		return NewDPO(s, 2).Forward(z, targets, s.Value("reference", graph.Normal(1), 2, 1))
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
		if y, ok := fused.Scale(l, 2); ok {
			return y
		}
		return l.Scale(2)
	},
}

// Value and gradient of every formula with every pair of losses equal the reference form's, in float64 and float32.
func TestLossesInFormulas(t *testing.T) {
	const n, v = 8, 5
	for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
		tol := 1e-12
		if dtype == graph.Float32 {
			tol = 2e-5
		}
		for name, loss := range losses {
			for other, second := range losses {
				for what, formula := range formulas {
					if other != "cross entropy" && (what != "k·l" || dtype == graph.Float32 || other < name) {
						continue // the second loss matters little there, and the product is symmetric
					}
					var sides [2][]float64
					for side := range sides {
						g := graph.New(dtype, 1)
						g.Kernels = side == 1
						s := g.Root()
						z, targets, r := s.Param(
							"z", graph.Normal(1), n, v,
						), s.Ints("targets", n, v, -1), rollout(s, n, v)
						copy(targets.Ints(), []int{2, 0, -1, 4, 1, 1, 3, 2})
						y := formula(
							loss(s.Sub("l"), z.Scale(1.1), targets, r), second(s.Sub("k"), z.Scale(0.9), targets, r),
						)
						p := run(t, y, z)
						sides[side] = append(p.Grad(z).Floats(), p.Loss())
					}
					size := 1e-3
					for _, x := range sides[0] {
						size = max(size, math.Abs(x))
					}
					for i, want := range sides[0] {
						if got := sides[1][i]; !(math.Abs(got-want) <= tol*size) {
							t.Errorf(
								"%v: %s with l %s, k %s, entry %d: got %v, want %v", dtype, what, name, other, i, got,
								want,
							)
							break
						}
					}
				}
			}
		}
	}
}

// An error is 0 if both operands are equal, symmetric, and n times smaller per entry for n entries.
func TestI62SquaredError(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		x, y := g.Root().Param("x", graph.Normal(1), 3, 2), g.Root().Param("y", graph.Normal(1), 3, 2)
		l := NewSquaredError(g.Root().Sub("loss"))
		want := 0.0
		for i, v := range x.Tensor().F64 {
			want += (v - y.Tensor().F64[i]) * (v - y.Tensor().F64[i]) / 6
		}
		xx, xy, yx := run(t, l.Forward(x, x)).Loss(), run(t, l.Forward(x, y)).Loss(), run(t, l.Forward(y, x)).Loss()
		if xx != 0 || xy != yx || !(math.Abs(xy-want) <= 1e-15) {
			t.Errorf("kernels %t: got %v, %v and %v, want 0 and %v", kernels, xx, xy, yx, want)
		}
		p := run(t, l.Forward(x, y), x, y)
		for i, got := range p.Grad(x).F64 {
			if want := (x.Tensor().F64[i] - y.Tensor().F64[i]) / 3; !(math.Abs(got-want) <= 1e-15) ||
				p.Grad(y).F64[i] != -got {
				t.Errorf("kernels %t, entry %d: got %v and %v, want ±%v", kernels, i, got, p.Grad(y).F64[i], want)
			}
		}
	}
}

// For two classes the loss of one logit is the cross entropy of the logits 0 and z. If it is right or wrong by far, it
// is 0 or |z|.
func TestI63TwoClasses(t *testing.T) {
	numbers, labels := []float64{0.7, -1.3, 2.1, -0.2, 1000, -1000, 1000, -1000}, []int{1, 0, 0, 1, 1, 0, 0, 1}
	for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(dtype, 1)
			g.Kernels = kernels
			n := len(numbers)
			z, two := g.Root().Value("z", graph.Const(0), n, 1), g.Root().Value("two", graph.Const(0), n, 2)
			y, ids := g.Root().Value("y", graph.Const(0), n, 1), g.Root().Ints("ids", n, 2, -1)
			for i, v := range numbers {
				z.Tensor().Set(i, v)
				two.Tensor().Set(2*i+1, v)
				y.Tensor().Set(i, float64(labels[i]))
			}
			copy(ids.Ints(), labels)
			one, other := NewBinaryCrossEntropy(g.Root()).Forward(z, y), NewCrossEntropy(g.Root()).Forward(two, ids)
			if got, want := run(t, one).Loss(), run(t, other).Loss(); !(math.Abs(got-want) <= 1e-7*want) ||
				!(want > 250 && want < 251) {
				t.Errorf("%v, kernels %t: got %v, want %v", dtype, kernels, got, want)
			}
			for i, got := range run(t, one, z).Grad(z).Floats() {
				s := 1 / (1 + math.Exp(-numbers[i]))
				if want := (s - float64(labels[i])) / float64(n); !(math.Abs(got-want) <= 2e-8) {
					t.Errorf("%v, kernels %t, entry %d: got the gradient %v, want %v", dtype, kernels, i, got, want)
				}
			}
		}
	}
}

// The operands stay in their layers' scopes, and the loss is in its own.
func TestLossesAreEntered(t *testing.T) {
	for name, loss := range map[string]func(s graph.Scope, x, y graph.Expr) graph.Expr{
		"squared error": func(s graph.Scope, x, y graph.Expr) graph.Expr {
			return NewSquaredError(s).Forward(x, y)
		},
		"binary cross entropy": func(s graph.Scope, x, y graph.Expr) graph.Expr {
			return NewBinaryCrossEntropy(s).Forward(x, y)
		},
	} {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Value("x", graph.Normal(1), 4, 1).In(g.Root().Sub("student")).Tanh()
		y := g.Root().Value("y", graph.Normal(1), 4, 1).In(g.Root().Sub("teacher")).Tanh()
		loss(g.Root().Sub("loss"), x, y)
		in, err := g.Entering("loss")
		student, err1 := g.Leaving("student")
		teacher, err2 := g.Leaving("teacher")
		if err != nil || err1 != nil || err2 != nil || in.Node() != x.Node() || student.Node() != x.Node() ||
			teacher.Node() != y.Node() {
			t.Errorf("%s: got %v, %v, %v, or other expressions", name, err, err1, err2)
		}
	}
}

// A column and a row are an error of the loss, with both shapes: broadcast, they would give the error of every pair.
func TestLossesOfOtherShapes(t *testing.T) {
	for name, loss := range map[string]func(s graph.Scope, x, y graph.Expr) graph.Expr{
		"squared error": func(s graph.Scope, x, y graph.Expr) graph.Expr {
			return NewSquaredError(s).Forward(x, y)
		},
		"binary cross entropy": func(s graph.Scope, x, y graph.Expr) graph.Expr {
			return NewBinaryCrossEntropy(s).Forward(x, y)
		},
	} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			_, err := graph.Compile(
				loss(
					g.Root().Sub("loss"), g.Root().Value("x", graph.Normal(1), 4, 1),
					g.Root().Value("y", graph.Normal(1), 4),
				),
			)
			if err == nil || err.Error() != "loss: shapes [4 1] and [1 4] differ" {
				t.Errorf("%s, kernels %t: got %v", name, kernels, err)
			}
		}
	}
}

// A logit of −∞ is an impossible class. Unless it is the target, value and gradient are finite, and the same in both
// forms of every loss over classes.
func TestLossesOfImpossibleClasses(t *testing.T) {
	for name, loss := range map[string]func(at Site, x, ids graph.Expr) graph.Expr{
		"cross entropy": idReaders["cross entropy"].build, "reinforce": idReaders["reinforce"].build,
		"ppo": idReaders["ppo"].build,
	} {
		for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
			var sides [2][]float64
			for side := range sides {
				g := graph.New(dtype, 1)
				g.Kernels = side == 1
				s := g.Root().Sub("a")
				x, ids := s.Param("x", graph.Normal(1), 10, 5), s.Ints("ids", 10, 5, -1)
				for i := range ids.Ints() {
					ids.Ints()[i] = i % 4
					x.Tensor().Set(5*i+4, math.Inf(-1))
				}
				p, err := graph.Compile(loss(Site{Scope: s}, x, ids), x)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				sides[side] = append([]float64{p.Loss()}, p.Grad(x).Floats()...)
			}
			for i, got := range sides[1] {
				if want := sides[0][i]; !(math.Abs(got-want) <= 1e-6) {
					t.Errorf("%s, %v: number %d is %v by kernels, want %v", name, dtype, i, got, want)
				}
			}
		}
	}
}

// If every target is ignored, the sum is 0 and the mean is 0/0, which training refuses because it is not finite.
func TestCrossEntropyWithoutTargets(t *testing.T) {
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		for _, kernels := range []bool{false, true} {
			for _, sum := range []bool{false, true} {
				g := graph.New(dtype, 1)
				g.Kernels = kernels
				s := g.Root()
				z, targets := s.Param("z", graph.Normal(1), 3, 5), s.Ints("y", 3, 5, -1)
				for i := range 3 {
					targets.Ints()[i] = -1
				}
				l := NewCrossEntropy(s.Sub("loss"))
				l.Sum = sum
				p, err := graph.Compile(l.Forward(z, targets), z)
				if err != nil {
					t.Fatal(err)
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				if got := p.Loss(); sum && got != 0 || !sum && got == got {
					t.Errorf(
						"%v, kernels %v, sum %v: got %v, want 0 of a sum, and of a mean 0/0", dtype, kernels, sum, got,
					)
				}
				for i, d := range p.Grad(z).Floats() {
					if (sum || kernels) && d != 0 {
						t.Errorf(
							"%v, kernels %v, sum %v: the gradient of entry %d is %v, want 0", dtype, kernels, sum, i, d,
						)
					}
				}
			}
		}
	}
}

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
	{"grpo", "GRPO", func(at Site, x graph.Expr) graph.Expr {
		r := rollout(at.Scope, at.Batch*at.Context, at.Embd)
		r.Reference = r.LogProbs.Scale(0.9)
		return NewGRPO(at.Scope).Forward(x, r)
	}},
	{"dpo", "DPO", func(at Site, x graph.Expr) graph.Expr {
		rows, texts := 2*at.Batch*at.Context, 2*at.Batch
		z, r := x.In(at.Scope).Join(x.In(at.Scope).Scale(-0.5)).Reshape(rows, at.Embd), rollout(at.Scope, rows, at.Embd)
		return NewDPO(at.Scope, texts).Forward(z, r.Actions, at.Value("reference", graph.Normal(1), texts, 1))
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
		"grpo": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			r.Reference = r.LogProbs
			return NewGRPO(s).Forward(z, r)
		},
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
	if err == nil || !strings.Contains(err.Error(), "loss: reinforce") ||
		!strings.Contains(err.Error(), "3 numbers for 4 rows") {
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
		"grpo": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			r.Reference = r.LogProbs
			return NewGRPO(s).Forward(z, r)
		},
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

// Impossible settings of the objectives of preferences are errors that name the layer, the field and the number.
func TestPreferenceErrors(t *testing.T) {
	for want, forward := range map[string]func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr{
		"l: beta: got -1, want at least 0": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return (&GRPO{*NewPPOClip(s), -1}).Forward(z, r)
		},
		"l: beta: got +Inf, want at least 0": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			r.Reference = r.LogProbs
			return (&GRPO{*NewPPOClip(s), math.Inf(1)}).Forward(z, r)
		},
		"l: beta: got +Inf, want a number above 0": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return (&DPO{math.Inf(1), 2, s}).Forward(z, r.Actions, r.Returns)
		},
		"l: beta: got 0.04 without the reference's": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return NewGRPO(s).Forward(z, r)
		},
		"l: clip: got NaN, want at least 0": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			r.Reference = r.LogProbs
			return (&GRPO{PPOClip{math.NaN(), s}, 1}).Forward(z, r)
		},
		"l: beta: got 0, want a number above 0": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return (&DPO{0, 2, s}).Forward(z, r.Actions, r.Returns)
		},
		"l: logits of shape [4 5] for 3 texts": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return NewDPO(s, 3).Forward(z, r.Actions, r.Returns)
		},
		"l: logits of shape [4 5] for 8 texts": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return NewDPO(s, 8).Forward(z, r.Actions, r.Returns)
		},
		"l: sub (2, 1), l.reference (3, 1)": func(s graph.Scope, z graph.Expr, r Rollout) graph.Expr {
			return NewDPO(s, 2).Forward(z, r.Actions, s.Value("reference", graph.Const(0), 3, 1))
		},
	} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			s := g.Root().Sub("l")
			forward(s, s.Value("z", graph.Const(0), 4, 5), NewRollout(s, 4, 5))
			if err := g.Err(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("kernels %t: got error %v, want %s", kernels, err, want)
			}
		}
	}
}

// learnt returns a loss of random logits z (n, v), and its gradient by them.
func learnt(
	t *testing.T, kernels bool, n, v int, build func(s graph.Scope, z graph.Expr) graph.Expr,
) (loss float64, grad graph.Tensor) {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	z := g.Root().Param("z", graph.Normal(1), n, v)
	p := run(t, build(g.Root(), z), z)
	return p.Loss(), p.Grad(z)
}

// TestI116Penalty: without a penalty, GRPO is PPO with a clip. A policy that is its reference has no penalty. Otherwise
// the penalty is positive, and its gradient moves the policy towards the reference.
func TestI116Penalty(t *testing.T) {
	const n, v = 6, 5
	for _, kernels := range []bool{true, false} {
		ppo, want := learnt(t, kernels, n, v, func(s graph.Scope, z graph.Expr) graph.Expr {
			return NewPPOClip(s).Forward(z, rollout(s, n, v))
		})
		for _, beta := range []float64{0, 0.7} {
			loss, grad := learnt(t, kernels, n, v, func(s graph.Scope, z graph.Expr) graph.Expr {
				r := rollout(s, n, v)
				r.Reference = LogProbs(z, r.Actions).Detach()
				return (&GRPO{*NewPPOClip(s), beta}).Forward(z, r)
			})
			if !(math.Abs(loss-ppo) <= 1e-14) {
				t.Errorf("kernels %t, β %v at the reference: got %v, want %v", kernels, beta, loss, ppo)
			}
			for i, x := range grad.F64 {
				if !(math.Abs(x-want.F64[i]) <= 1e-14) {
					t.Errorf(
						"kernels %t, β %v at the reference: got the slope %v, want %v", kernels, beta, x, want.F64[i],
					)
				}
			}
		}
		for _, shift := range []float64{-0.5, 0.5} { // the reference's ln π minus the policy's
			var r Rollout
			loss, grad := learnt(t, kernels, n, v, func(s graph.Scope, z graph.Expr) graph.Expr {
				r = rollout(s, n, v)
				for i := range n { // no advantages: the penalty is alone
					r.Returns.Tensor().Set(i, 0)
				}
				r.Reference = LogProbs(z, r.Actions).Detach().Shift(shift)
				return (&GRPO{*NewPPOClip(s), 0.7}).Forward(z, r)
			})
			if want := 0.7 * (math.Exp(shift) - shift - 1); !(math.Abs(loss-want) <= 1e-14) {
				t.Errorf("kernels %t: got the penalty %v, want %v", kernels, loss, want)
			}
			for i, action := range r.Actions.Ints() {
				// Descending makes an action likelier if it is likelier under the reference.
				if d := grad.Row(i).At(action); r.Weights.Tensor().At(i) > 0 && !(d*shift < 0) {
					t.Errorf("kernels %t: row %d at %v has the slope %v", kernels, i, shift, d)
				}
			}
		}
	}
}

// TestI117Preferences: at the reference the loss is ln 2, and both texts of a pair get opposite pushes. A constant in
// the reference of both texts changes nothing. The loss is the cross entropy of the labels "the first text is
// preferred" with the margins as logits.
func TestI117Preferences(t *testing.T) {
	const texts, length, v, beta = 4, 3, 5, 0.4
	ids := []int{0, 1, -1, 2, 3, 4, -1, -1, 2, 1, 1, 0}
	for _, kernels := range []bool{true, false} {
		of := func(build func(s graph.Scope, z, targets, sums graph.Expr) graph.Expr) (float64, graph.Tensor) {
			return learnt(t, kernels, texts*length, v, func(s graph.Scope, z graph.Expr) graph.Expr {
				targets := s.Ints("targets", texts*length, v, -1)
				copy(targets.Ints(), ids)
				return build(s, z, targets, LogProbs(z, targets).Reshape(texts, length).Sum())
			})
		}
		dpo := func(s graph.Scope) *DPO { return &DPO{beta, texts, s} }
		loss, grad := of(func(s graph.Scope, z, targets, sums graph.Expr) graph.Expr {
			return dpo(s).Forward(z, targets, sums.Detach())
		})
		if !(math.Abs(loss-math.Ln2) <= 1e-15) {
			t.Errorf("kernels %t: got %v at the reference, want ln 2", kernels, loss)
		}
		for i, id := range ids {
			row := grad.Row(i).Floats()
			if id < 0 {
				if slices.ContainsFunc(row, func(d float64) bool { return d != 0 }) {
					t.Errorf("kernels %t: the ignored row %d has the gradient %v", kernels, i, row)
				}
			} else if preferred := i/length%2 == 0; (row[id] < 0) != preferred {
				t.Errorf("kernels %t: row %d has the slope %v at its token", kernels, i, row[id])
			}
		}
		reference := func(s graph.Scope, shift float64) graph.Expr {
			return s.Value("reference", func(i int, _ *rand.Rand) float64 {
				return math.Sin(float64(3*i)) - 4 + shift*float64(i/2)
			}, texts, 1)
		}
		loss, grad = of(func(s graph.Scope, z, targets, _ graph.Expr) graph.Expr {
			return dpo(s).Forward(z, targets, reference(s, 0))
		})
		for what, other := range map[string]func(s graph.Scope, z, targets, sums graph.Expr) graph.Expr{
			"another reference": func(s graph.Scope, z, targets, _ graph.Expr) graph.Expr {
				return dpo(s).Forward(z, targets, reference(s, 3))
			},
			"binary cross entropy": func(s graph.Scope, _, _, sums graph.Expr) graph.Expr {
				pairs := sums.Sub(reference(s, 0)).Reshape(texts/2, 2)
				margins := pairs.Columns(0, 1).Sub(pairs.Columns(1, 2)).Scale(beta)
				return NewBinaryCrossEntropy(s).Forward(margins, s.Value("labels", graph.Const(1), texts/2, 1))
			},
		} {
			same, slopes := of(other)
			if !(math.Abs(same-loss) <= 1e-14) {
				t.Errorf("kernels %t, %s: got %v, want %v", kernels, what, same, loss)
			}
			for i, x := range slopes.F64 {
				if want := grad.F64[i]; !(math.Abs(x-want) <= 1e-14) {
					t.Errorf("kernels %t, %s: got the slope %v, want %v", kernels, what, x, want)
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

// regularised returns the loss of logits z (n, v) and its gradient, all targets being 1.
func regularised(
	t *testing.T, kernels bool, smoothing, zLoss float64, n, v int, z ...float64,
) (loss float64, grad []float64) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	g.Kernels = kernels
	s := g.Root()
	x, targets := s.Param("z", graph.Const(0), n, v), s.Ints("y", n, v, -1)
	copy(x.Tensor().F64, z)
	for i := range n {
		targets.Ints()[i] = 1
	}
	l := NewCrossEntropy(s.Sub("loss"))
	l.Smoothing, l.ZLoss = smoothing, zLoss
	p, err := graph.Compile(l.Forward(x, targets), x)
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.Loss(), p.Grad(x).Floats()
}

// A number added to all logits changes only the z-loss: λ·ln² Σ e^z, which is smallest where Σ e^z is 1.
func TestI84NormalisesLogits(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for _, shift := range []float64{-3, 0, 5} {
			plain, _ := regularised(t, kernels, 0, 0, 1, 3, 1, -2, 0.5)
			sum := math.Exp(1) + math.Exp(-2) + math.Exp(0.5)
			lse := math.Log(sum) + shift
			got, grad := regularised(t, kernels, 0, 0.7, 1, 3, 1+shift, -2+shift, 0.5+shift)
			if want := plain + 0.7*lse*lse; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("shift %v: got %v, want %v", shift, got, want)
			}
			if total := grad[0] + grad[1] + grad[2]; !(math.Abs(total-2*0.7*lse) <= 1e-12) {
				t.Errorf("shift %v: the gradient sums to %v, want %v", shift, total, 2*0.7*lse)
			}
		}
	}
}

// The loss with smoothed labels is smallest, and its gradient 0, where the softmax is the smoothed target; there it is
// the entropy of that target. Uniform logits cost ln V, whatever the smoothing.
func TestI85IsSmallestAtSmoothedTargets(t *testing.T) {
	const smoothing, v = 0.3, 4
	var best []float64
	entropy := 0.0
	for i := range v {
		q := smoothing / v
		if i == 1 {
			q += 1 - smoothing
		}
		best = append(best, math.Log(q)+2)
		entropy -= q * math.Log(q)
	}
	for _, kernels := range []bool{false, true} {
		got, grad := regularised(t, kernels, smoothing, 0, 2, v, append(best, best...)...)
		if !(math.Abs(got-entropy) <= 1e-14) {
			t.Errorf("got %v, want the entropy %v", got, entropy)
		}
		for _, d := range grad {
			if !(math.Abs(d) <= 1e-15) {
				t.Errorf("gradient %v at the minimum", grad)
			}
		}
		if got, _ := regularised(t, kernels, smoothing, 0, 1, v); !(math.Abs(got-math.Log(v)) <= 1e-15) {
			t.Errorf("uniform logits: got %v, want ln %d", got, v)
		}
	}
}

func TestCrossEntropyRefusesSettings(t *testing.T) {
	for _, l := range []CrossEntropy{
		{Smoothing: 1}, {Smoothing: -0.1}, {ZLoss: -1}, {ZLoss: math.Inf(1)}, {Smoothing: math.NaN()},
	} {
		s := graph.New(graph.Float64, 1).Root()
		l.scope = s.Sub("loss")
		l.Forward(s.Value("z", graph.Const(0), 2, 3), s.Ints("y", 2, 3, -1))
		if err := s.Graph().Err(); err == nil || !strings.Contains(
			err.Error(), "want 0 ≤ smoothing < 1 and a z-loss of at least 0",
		) {
			t.Errorf("%+v: got %v", l, err)
		}
	}
}

// Head i is scored by the targets i−1 places later in the same sequence, and its last i−1 tokens by none: the loss is
// the mean of cross entropies with these targets, and with one head it is the cross entropy, to the bit.
func TestI110PredictsTokensAhead(t *testing.T) {
	const length, v = 4, 5
	for _, kernels := range []bool{false, true} {
		for _, sum := range []bool{false, true} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			s := g.Root()
			var heads []graph.Expr
			for i := range 3 {
				heads = append(heads, s.Param("z"+string(rune('0'+i)), graph.Normal(2), 2*length, v))
			}
			targets := s.Ints("targets", 2*length, v, -1)
			copy(targets.Ints(), []int{2, 0, -1, 4, 1, 1, 3, 2})
			l := NewMultiToken(s.Sub("loss"), length)
			l.Sum, l.Smoothing = sum, 0.2
			want := 0.0
			for i, list := range [][]int{
				{2, 0, -1, 4, 1, 1, 3, 2}, {0, -1, 4, -1, 1, 3, 2, -1}, {-1, 4, -1, -1, 3, 2, -1, -1},
			} {
				y := s.Ints("targets"+string(rune('0'+i)), 2*length, v, -1)
				copy(y.Ints(), list)
				one := NewCrossEntropy(s.Sub("one"))
				one.Sum, one.Smoothing = sum, 0.2
				alone := run(t, one.Forward(heads[i], y)).Loss()
				want += alone / 3
				if got := run(t, l.Forward(heads[:1], targets)).Loss(); i == 0 && got != alone {
					t.Errorf("one head: got %v, want the cross entropy %v", got, alone)
				}
			}
			p := run(t, l.Forward(heads, targets), heads...)
			if got := p.Loss(); !(math.Abs(got-want) <= 1e-14) {
				t.Errorf("kernels %t, sum %t: got %v, want %v", kernels, sum, got, want)
			}
			for row, x := range p.Grad(heads[2]).Floats() {
				if ignored := []bool{true, false, true, true, false, false, true, true}[row/v]; (x == 0) != ignored {
					t.Errorf("kernels %t: head 3 has gradient %v at token %d", kernels, x, row/v)
				}
			}
		}
	}
	for n, length := range map[int]int{0: 4, 3: 3} {
		s := graph.New(graph.Float64, 1).Root()
		heads := make([]graph.Expr, n)
		for i := range heads {
			heads[i] = s.Value("z"+string(rune('0'+i)), graph.Const(0), 12, 3)
		}
		NewMultiToken(s.Sub("loss"), length).Forward(heads, s.Ints("y", 12, 3, -1))
		if err := s.Graph().Err(); err == nil || !strings.Contains(err.Error(), "heads for sequences of") {
			t.Errorf("%d heads of %d tokens: got %v", n, length, err)
		}
	}
}
