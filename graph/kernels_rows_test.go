package graph

import (
	"fmt"
	"math"
)

// rowCases returns the kernels of a layer's equation, entry by entry or row by row, for rows of d entries.
func rowCases(d int) map[string]kernelCase {
	m := func(n, d int) []int { return []int{n, d} }
	one := func(kernel func(x Expr) (Expr, bool), plain func(x Expr) Expr) kernelCase {
		return kernelCase{leaves(1, m(3, d)),
			func(in []Expr) (Expr, bool) { return kernel(in[0]) }, func(in []Expr) Expr { return plain(in[0]) }}
	}
	cases := map[string]kernelCase{
		"gelu": one(GELU, func(x Expr) Expr { return x.Mul(x.Scale(math.Sqrt2 / 2).Erf().Shift(1)).Scale(0.5) }),
		"gelu, tanh": one(GELUTanh, func(x Expr) Expr {
			return x.Mul(x.Add(x.Cube().Scale(0.044715)).Scale(math.Sqrt(2 / math.Pi)).Tanh().Shift(1)).Scale(0.5)
		}),
		"relu":     one(ReLU, Expr.ReLU),
		"sigmoid":  one(Sigmoid, Expr.Sigmoid),
		"silu":     one(SiLU, func(x Expr) Expr { return x.Mul(x.Sigmoid()) }),
		"softplus": one(Softplus, Expr.Softplus),
		"swiglu": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return SwiGLU(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].Mul(in[0].Sigmoid()).Mul(in[1]) }},
		"rmsnorm": {leaves(2, m(3, d), []int{d}), func(in []Expr) (Expr, bool) { return RMSNorm(in[0], in[1], 0.01) },
			func(in []Expr) Expr { return in[0].Div(in[0].Square().Mean().Shift(0.01).Sqrt()).Mul(in[1]) }},
		"rmsnorm without gains": {leaves(1, m(3, d)), func(in []Expr) (Expr, bool) { return RMSNorm(in[0], Expr{}, 0.01) },
			func(in []Expr) Expr { return in[0].Div(in[0].Square().Mean().Shift(0.01).Sqrt()) }},
		"squared error, no weights": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return SquaredError(in[0], in[1], Expr{}) },
			func(in []Expr) Expr { return in[0].Sub(in[1]).Square().SumAll().Scale(1 / in[0].Entries()) }},
		"binary cross entropy": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return BinaryCrossEntropy(in[0], in[1]) },
			func(in []Expr) Expr {
				return in[0].Softplus().Sub(in[0].Mul(in[1])).SumAll().Scale(1 / in[0].Entries())
			}},
		"scale": one(func(x Expr) (Expr, bool) { return Scale(x, -0.3) }, func(x Expr) Expr { return x.Scale(-0.3) }),
		"squared error": {positive(leaves(2, m(5, 1), m(5, 1), m(5, 1)), 2), func(in []Expr) (Expr, bool) { return SquaredError(in[0], in[1], in[2]) },
			func(in []Expr) Expr { return in[2].Mul(in[0].Sub(in[1]).Square()).SumAll().Div(in[2].SumAll()) }},
	}
	for name, c := range map[string]kernelCase{"": {leaves: leaves(1, m(3, d))}, ", gains": {leaves: leaves(2, m(3, d), []int{d})},
		", gains and shifts": {leaves: leaves(3, m(3, d), []int{d}, []int{d})}} {
		for _, sigma := range []bool{false, true} {
			norm, form := LayerNorm, "layernorm"
			if sigma {
				norm, form = LayerNormSigma, "layernorm σ"
			}
			c.kernel = func(in []Expr) (Expr, bool) { in = append(in, Expr{}, Expr{}); return norm(in[0], in[1], in[2], 0.01) }
			c.plain = func(in []Expr) Expr {
				d := in[0].Sub(in[0].Mean())
				spread := d.Square().Mean().Shift(0.01).Sqrt()
				if sigma {
					spread = d.Square().Mean().Sqrt().Shift(0.01)
				}
				y := d.Div(spread)
				if len(in) > 1 {
					y = y.Mul(in[1])
				}
				if len(in) > 2 {
					y = y.Add(in[2])
				}
				return y
			}
			cases[form+name] = c
		}
	}
	for _, mean := range []bool{false, true} {
		what, targets := "mean", []int{2 % d, 0, 1 % d, -1, 1 % d}
		if !mean {
			what, targets = "row ignored", []int{2 % d, 0, -1, 1 % d, 1 % d}
		}
		cases["cross entropy, "+what] = kernelCase{listed(leaves(1, m(5, d)), d, -1, targets...),
			func(in []Expr) (Expr, bool) { return CrossEntropy(in[0], in[1], mean) },
			func(in []Expr) Expr {
				y := in[1].OneHot(d)
				counts := y.Sum()
				loss := in[0].LogSumExp().Mul(counts).Sub(in[0].Pick(y).Sum()).SumAll()
				if mean {
					loss = loss.Div(counts.SumAll())
				}
				return loss
			}}
	}
	for _, ppo := range []bool{false, true} {
		for _, baseline := range []bool{false, true} {
			cases[fmt.Sprintf("rollout, ppo %t, baseline %t", ppo, baseline)] = kernelCase{
				listed(positive(leaves(1, m(5, d), m(5, 1), m(5, 1), m(5, 1), m(5, 1)), 3), d, -1, 2%d, 0, 1%d, 1%d, 0),
				func(in []Expr) (Expr, bool) {
					b := Expr{}
					if baseline {
						b = in[2]
					}
					if ppo {
						return PPOClip(in[0], in[5], in[1], b, in[3], in[4], 0.2)
					}
					return Reinforce(in[0], in[5], in[1], b, in[3])
				},
				func(in []Expr) Expr {
					advantage, w := in[1], in[3]
					if baseline {
						advantage = advantage.Sub(in[2])
					}
					x := in[0].Pick(in[5].OneHot(d)).Sum().Sub(in[0].LogSumExp()) // ln π
					if ppo {
						// min(rA, clip(r)A) = rA − max(rA − clip(r)A, 0)
						r := x.Sub(in[4]).Exp()
						clipped := r.Shift(-0.8).ReLU().Sub(r.Shift(-1.2).ReLU()).Shift(0.8)
						free := r.Mul(advantage)
						x = free.Sub(free.Sub(clipped.Mul(advantage)).ReLU())
					} else {
						x = x.Mul(advantage)
					}
					return x.Mul(w).SumAll().Div(w.SumAll()).Scale(-1)
				}}
		}
	}
	h := AttentionShape{Batch: 1, Context: d, Heads: 1, QK: 3, V: 2}
	cases["causal attention"] = kernelCase{
		func(s Scope) ([]Expr, int) {
			in, wrt := leaves(1, m(d, h.Width()), m(d, d))(s)
			for i := range d * d {
				if i%d > i/d {
					in[1].Tensor().Set(i, math.Inf(-1))
				}
			}
			return in, wrt
		},
		func(in []Expr) (Expr, bool) { return Attention(in[0], in[1], h, 0) },
		func(in []Expr) Expr {
			return referenceCross(in[0].Cols(0, 3), in[0].Cols(3, 8), in[1], CrossShape{1, d, d, 1, 3, 2}, 0)
		},
	}
	return cases
}
