package ops_test

import (
	"fmt"
	"go/ast"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	. "github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}

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
		"relu2":    one(ReLU2, func(x Expr) Expr { return x.ReLU().Square() }),
		"sigmoid":  one(Sigmoid, Expr.Sigmoid),
		"silu":     one(SiLU, func(x Expr) Expr { return x.Mul(x.Sigmoid()) }),
		"softplus": one(Softplus, Expr.Softplus),
		"swiglu": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return SwiGLU(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].Mul(in[0].Sigmoid()).Mul(in[1]) }},
		"glu": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return GLU(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].Sigmoid().Mul(in[1]) }},
		"reglu": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return ReGLU(in[0], in[1]) },
			func(in []Expr) Expr { return in[0].ReLU().Mul(in[1]) }},
		"geglu": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return GEGLU(in[0], in[1]) },
			func(in []Expr) Expr {
				return in[0].Mul(in[0].Scale(math.Sqrt2 / 2).Erf().Shift(1)).Scale(0.5).Mul(in[1])
			}},
		"geglu, tanh": {leaves(2, m(3, d), m(3, d)), func(in []Expr) (Expr, bool) { return GEGLUTanh(in[0], in[1]) },
			func(in []Expr) Expr {
				return in[0].Mul(
					in[0].Add(in[0].Cube().Scale(0.044715)).Scale(math.Sqrt(2 / math.Pi)).Tanh().Shift(1),
				).Scale(0.5).Mul(in[1])
			}},
		"rmsnorm": {leaves(2, m(3, d), []int{d}), func(in []Expr) (Expr, bool) { return RMSNorm(in[0], in[1], 0.01) },
			func(in []Expr) Expr { return in[0].Div(in[0].Square().Mean().Shift(0.01).Sqrt()).Mul(in[1]) }},
		"rmsnorm without gains": {leaves(1, m(3, d)), func(in []Expr) (Expr, bool) {
			return RMSNorm(in[0], Expr{}, 0.01)
		},
			func(in []Expr) Expr { return in[0].Div(in[0].Square().Mean().Shift(0.01).Sqrt()) }},
		"qknorm": {leaves(3, m(3, 3*d+2), []int{d}, []int{d}), func(in []Expr) (Expr, bool) {
			return QKNorm(in[0], in[1], in[2], 2, 1, 0.01)
		},
			func(in []Expr) Expr {
				norm := func(from int, gains Expr) Expr {
					x := in[0].Columns(from, from+d)
					return x.Div(x.Square().Mean().Shift(0.01).Sqrt()).Mul(gains)
				}
				return norm(0, in[1]).Join(norm(d, in[1]), norm(2*d, in[2]), in[0].Columns(3*d, 3*d+2))
			}},
		"squared error, no weights": {leaves(2, m(3, d), m(3, d)),
			func(in []Expr) (Expr, bool) { return SquaredError(in[0], in[1], Expr{}) },
			func(in []Expr) Expr { return in[0].Sub(in[1]).Square().SumAll().Scale(1 / in[0].Entries()) }},
		"binary cross entropy": {leaves(2, m(3, d), m(3, d)),
			func(in []Expr) (Expr, bool) { return BinaryCrossEntropy(in[0], in[1]) },
			func(in []Expr) Expr {
				return in[0].Softplus().Sub(in[0].Mul(in[1])).SumAll().Scale(1 / in[0].Entries())
			}},
		"scale": one(func(x Expr) (Expr, bool) { return Scale(x, -0.3) }, func(x Expr) Expr { return x.Scale(-0.3) }),
		"squared error": {positive(leaves(2, m(5, 1), m(5, 1), m(5, 1)), 2),
			func(in []Expr) (Expr, bool) { return SquaredError(in[0], in[1], in[2]) },
			func(in []Expr) Expr { return in[2].Mul(in[0].Sub(in[1]).Square()).SumAll().Div(in[2].SumAll()) }},
	}
	for _, r := range []Router{{Active: 1}, {Active: d, Norm: true}, {Active: (d + 1) / 2, Sigmoid: true, Norm: true}} {
		r.Experts = d
		p := func(z Expr) Expr {
			if r.Sigmoid {
				return z.Sigmoid()
			}
			return z.Softmax()
		}
		chosen := func(z Expr) Expr { return p(z).TopK(r.Active) }
		cases[fmt.Sprintf("gates %+v", r)] = one(func(z Expr) (Expr, bool) { return Gates(z, Expr{}, r) },
			func(z Expr) Expr {
				if y := chosen(z); r.Norm {
					return y.Div(y.Sum().Shift(1e-20))
				}
				return chosen(z)
			})
		cases[fmt.Sprintf("switch loss %+v", r)] = one(func(z Expr) (Expr, bool) {
			return SwitchLoss(z, chosen(z).Detach(), r)
		}, func(z Expr) Expr {
			one, share := z.Detach().Pow(0), p(z)
			if r.Sigmoid {
				share = share.Div(share.Sum().Shift(1e-20))
			}
			f := one.Where(chosen(z).Detach(), one.Shift(-1))
			return f.Transpose(1, 0).Mean().Mul(share.Transpose(1, 0).Mean()).SumAll().Scale(float64(d))
		})
	}
	for name, c := range map[string]kernelCase{"": {leaves: leaves(1, m(3, d))},
		", gains":            {leaves: leaves(2, m(3, d), []int{d})},
		", gains and shifts": {leaves: leaves(3, m(3, d), []int{d}, []int{d})}} {
		for _, sigma := range []bool{false, true} {
			norm, form := LayerNorm, "layernorm"
			if sigma {
				norm, form = LayerNormSigma, "layernorm σ"
			}
			c.kernel = func(in []Expr) (Expr, bool) {
				in = append(in, Expr{}, Expr{})
				return norm(in[0], in[1], in[2], 0.01)
			}
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
		targets, s, lambda := []int{2 % d, 0, 1 % d, 1 % d, 1 % d}, 0.25, 0.5
		cases[fmt.Sprint("regularised cross entropy, mean ", mean)] = kernelCase{
			listed(leaves(1, m(5, d)), d, -1, targets...),
			func(in []Expr) (Expr, bool) { return CrossEntropy(in[0], in[1], mean, s, lambda) },
			func(in []Expr) Expr {
				lse, right := in[0].LogSumExp(), in[0].Pick(in[1].OneHot(d)).Sum()
				loss := lse.Sub(right).Add(right.Sub(in[0].Mean()).Scale(s)).Add(lse.Square().Scale(lambda)).SumAll()
				if mean {
					loss = loss.Scale(0.2)
				}
				return loss
			},
		}
	}
	for _, mean := range []bool{false, true} {
		what, targets := "mean", []int{2 % d, 0, 1 % d, -1, 1 % d}
		if !mean {
			what, targets = "row ignored", []int{2 % d, 0, -1, 1 % d, 1 % d}
		}
		cases["cross entropy, "+what] = kernelCase{listed(leaves(1, m(5, d)), d, -1, targets...),
			func(in []Expr) (Expr, bool) { return CrossEntropy(in[0], in[1], mean, 0, 0) },
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
	for what, third := range map[string]int{"": 3 % d, ", row ignored": -1} {
		cases["log probabilities"+what] = kernelCase{listed(leaves(1, m(5, d)), d, -1, 2%d, 0, third, 1%d, 1%d),
			func(in []Expr) (Expr, bool) { return LogProbs(in[0], in[1]) },
			func(in []Expr) Expr {
				y := in[1].OneHot(d)
				return in[0].Pick(y).Sum().Sub(in[0].LogSumExp().Mul(y.Sum()))
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
	for name, limit := range map[string]float64{
		"causal attention": 0, "causal attention, capped": 2, "causal attention, sigmoids": 0,
	} {
		h := AttentionShape{Batch: 1, Context: d, Heads: 1, QK: 3, V: 2, Cap: limit}
		sigmoids := strings.HasSuffix(name, "sigmoids")
		cases[name] = kernelCase{
			func(s Scope) ([]Expr, int) {
				in, wrt := leaves(1, m(d, h.Width()), m(d, d))(s)
				for i := range d * d {
					if i%d > i/d {
						in[1].Tensor().Set(i, math.Inf(-1))
					}
				}
				return in, wrt
			},
			func(in []Expr) (Expr, bool) {
				if sigmoids {
					return SigmoidAttention(in[0], in[1], h, 0)
				}
				return Attention(in[0], in[1], h, 0)
			},
			func(in []Expr) Expr {
				if sigmoids {
					mask := in[1].Sub(in[1].Scale(1e-37).Exp().Sum().Log())
					return in[0].Columns(0, 3).MatMulT(in[0].Columns(3, 6)).Scale(1 /
						math.Sqrt(3)).Add(mask).Sigmoid().MatMul(in[0].Columns(6, 8))
				}
				c := cross(1, d, d, 1, 3, 2)
				c.Cap = h.Cap
				return referenceCross(in[0].Columns(0, 3), in[0].Columns(3, 8), in[1], c, 0)
			},
		}
	}
	return cases
}

// tried is one form of a kernelCase, with a program for its value and its gradients.
type tried struct {
	in  []Expr
	wrt int
	y   Expr
	p   *Program
}

// try builds one form.
func (c kernelCase) try(t *testing.T, dtype Dtype, kernels bool) tried {
	t.Helper()
	g := New(dtype, 7)
	g.Kernels = kernels
	in, wrt := c.leaves(g.Root())
	y, ok := c.kernel(in)
	if !ok {
		y = c.plain(in)
	}
	loss := y
	if shape := y.Shape(); len(shape) > 0 {
		loss = y.Mul(g.Root().Value("delta", Normal(1), shape...)).SumAll()
	}
	p, err := CompileWith(loss, []Expr{y}, in[:wrt]...)
	if err != nil {
		t.Fatal(err)
	}
	return tried{in, wrt, y, p}
}

// end is a number computed by both forms of a case for a special number in an operand.
type end struct {
	dtype     Dtype
	operand   int
	special   float64
	out       int // 0 for the value, 1 + i for the gradient of operand i
	got, want float64
}

// arrangements writes a special number to a row: in the middle, everywhere, and everywhere alternating with its
// opposite.
var arrangements = map[string]func(j, d int) (sign float64){
	"one": func(j, d int) float64 {
		if j == d/2 {
			return 1
		}
		return 0 // keeps the old number
	},
	"all":       func(int, int) float64 { return 1 },
	"alternate": func(j, _ int) float64 { return float64(1 - j%2*2) },
}

// Every kernel of a layer's equation has the value and the gradients of the equation if a row of an operand has numbers
// at the limits of the type, for rows that fill vectors and rows that do not. NaN is NaN in both forms, and ∞ is ∞. In
// float32 the numbers may also equal the equation's in float64.
func TestKernelsAtTheEndsOfTheNumbers(t *testing.T) {
	widths := []int{1, 7, 17, 33}
	if os.Getenv("NIGHTLY") == "" {
		widths = []int{1, 7, 33}
	}
	for _, d := range widths {
		for name, c := range rowCases(d) {
			for _, dtype := range []Dtype{Float64, Float32} {
				if dtype == Float64 && d > 7 {
					continue // it has no vectors to fill
				}
				kernel, plain := c.try(t, dtype, true), c.try(t, dtype, false)
				wide := sync.OnceValue(func() tried { return c.try(t, Float64, false) })
				for k, x := range plain.in {
					if x.Ints() != nil || k == 0 && strings.HasPrefix(name, "causal attention") {
						continue // integers, or what is multiplied before the equation of a row
					}
					for _, s := range append(special(dtype), -1e6, -100, 100, 1e6) {
						for arranged, sign := range arrangements {
							e := end{dtype: dtype, operand: k, special: s}
							got := kernel.with(t, k, s, sign)
							wrong := e.compare(name, got, plain.with(t, k, s, sign))
							if wrong != "" && dtype == Float32 {
								wrong = e.compare(name, got, wide().with(t, k, s, sign))
							}
							if wrong != "" {
								t.Errorf(
									"%s, %v, width %d, operand %d, %s %v: %s", name, dtype, d, k, arranged, s, wrong,
								)
							}
						}
					}
				}
			}
		}
	}
}

// with returns the value and the gradients if the row in the middle of operand k has the special number s.
func (f tried) with(t *testing.T, k int, s float64, sign func(j, d int) float64) [][]float64 {
	x := f.in[k].Tensor()
	d := x.Shape[len(x.Shape)-1]
	row := x.Len() / d / 2 * d
	before := x.Floats()[row : row+d]
	for j, old := range before {
		if sign := sign(j, d); sign != 0 {
			x.Set(row+j, sign*s)
			defer x.Set(row+j, old)
		}
	}
	out := [][]float64{mustRun(t, f.p).Kept(f.y).Floats()}
	for _, x := range f.in[:f.wrt] {
		out = append(out, f.p.Grad(x).Floats())
	}
	return out
}

// compare describes the first number in which the two forms differ; it returns "" if there is none.
func (e end) compare(name string, got, want [][]float64) string {
	for i, list := range want {
		for j := range list {
			e.out, e.got, e.want = i, got[i][j], round(e.dtype, list[j])
			if !e.agree(list) && !e.excused(name) {
				return fmt.Sprintf("number %d of output %d is %v by the kernel, want %v", j, i, e.got, e.want)
			}
		}
	}
	return ""
}

// agree reports whether the number equals the wanted one up to rounding, relative to the largest of its list.
func (e end) agree(list []float64) bool {
	if e.got == e.want || math.IsNaN(e.got) && math.IsNaN(e.want) {
		return true
	}
	tolerance, tiny := 1e-10, 0x1p-1021
	if e.dtype == Float32 {
		tolerance, tiny = 2e-5, 0x1p-125
	}
	top := 0.0
	for _, v := range list {
		if isFinite(v) {
			top = max(top, math.Abs(v))
		}
	}
	return math.Abs(e.got-e.want) <= tolerance*top+tiny
}

// excuses lists the differences allowed between a kernel and its equation, by the beginning of the case's name.
var excuses = map[string]func(e end) bool{
	// A kernel has the limit where the equation is 0·∞ or overflows on the way. TestOperationsAtTheEndsOfTheNumbers
	// compares with the limits.
	"gelu":   end.limit,
	"silu":   end.limit,
	"swiglu": end.limit,
	"geglu":  end.limit,
	"reglu":  func(e end) bool { return e.limit() || math.IsNaN(e.special) && e.out == 1 && e.got == 0 },
	"relu2":  end.limit,
	// Δ∘u overflows before the derivative of σ makes it smaller, and the equation has 0·∞.
	"glu": end.overflow,
	// NaN is not above 0. The equation x + max(−x, 0) keeps the derivative of x.
	"relu": func(e end) bool { return math.IsNaN(e.special) && e.out == 1 && e.got == 0 },
	// The gate of an expert that is not chosen is 0, whatever the sum of the gates is. σ(−100) is below the normal
	// numbers of float32, and 0 in the kernel.
	"gates": func(e end) bool {
		tiny := e.dtype == Float32 && e.special == -100 && e.out == 1 && math.Abs(e.want) < 1e-20
		return e.got == 0 && (tiny || math.IsNaN(e.want) && e.out == 0)
	},
	// The gradients of experts that as many tokens have chosen cancel.
	"switch loss": func(e end) bool { return e.out == 1 && math.Abs(e.got) <= 1e-6 && math.Abs(e.want) <= 1e-6 },
	// Sums of squares overflow in another order, and in vectors earlier.
	"layernorm": end.overflow,
	"rmsnorm":   end.overflow,
	"qknorm":    end.overflow,
	// σ of the row underflows to 0, and both divide by it.
	"layernorm σ": func(e end) bool {
		return math.Abs(e.special) < 0x1p-125 && !isFinite(e.got) && !isFinite(e.want)
	},
	"cross entropy, row ignored":     end.ignored,
	"log probabilities, row ignored": end.ignored,
	// The sum of a row and the square of ln Σ e^z overflow, the mean and a small λ times the square do not.
	"regularised cross entropy": end.overflow,
	// Products overflow in another order, and not at all in a fused multiply-add.
	"squared error":        end.overflow,
	"rollout":              end.overflow,
	"binary cross entropy": end.overflow,
	// The equation loses the clipped product next to a large r·A, and a − max(a − b, 0) is ∞ − ∞ where r·A overflows. A
	// clipped row has no gradient, whatever its weight is.
	"rollout, ppo true": func(e end) bool {
		old, weight := e.operand == 4, e.operand == 3
		return old && e.special <= -100 && isFinite(e.got) || weight && math.IsNaN(e.special) && e.out == 1 &&
			e.got == 0
	},
	// The result of a query that sees no key is 0; the equation gives 0/0. Hidden keys are left out.
	"causal attention": func(e end) bool { return math.IsNaN(e.want) },
	// The equation counts the visible keys by e^(m·1e-37), which is not 1 for a huge number m of the mask.
	"causal attention, sigmoids": func(e end) bool { return e.operand == 1 && e.huge() },
}

// excused reports whether the difference is one of the excuses.
func (e end) excused(name string) bool {
	for prefix, f := range excuses {
		if strings.HasPrefix(name, prefix) && f(e) {
			return true
		}
	}
	return false
}

// overflow reports whether one of the forms is not finite for ±∞ or one of the largest numbers.
func (e end) overflow() bool { return e.huge() && !(isFinite(e.got) && isFinite(e.want)) }

// ignored reports whether the kernel leaves out a row that is NaN times 0 in the equation.
func (e end) ignored() bool { return !isFinite(e.special) && isFinite(e.got) && math.IsNaN(e.want) }

// limit reports whether, for ±∞ or one of the largest numbers, only the equation is not finite, or its gradient is 0.
func (e end) limit() bool {
	return e.huge() && !math.IsNaN(e.got) && (!isFinite(e.want) || e.out == 1 && e.want == 0)
}

// huge reports whether the special number is ±∞ or one of the largest.
func (e end) huge() bool {
	list := special(e.dtype)
	return math.Abs(e.special) >= list[len(list)-3]
}

// isFinite reports whether x is a number, and not ∞.
func isFinite(x float64) bool { return math.Abs(x) <= math.MaxFloat64 }

// notRows lists the other kernels: they move numbers, add them up or multiply matrices. TimeDecay computes in float64,
// and is finite where the equation has overflown.
var notRows = strings.Fields("AddPositions AddScaled Convolve CrossAttention Elman Exclude ExpertLoad " +
	"ForgettingAttention Gather GatherCols GatherTokens LRUDecay LRUInput Linear LinearAttention LinearT MatMulEach " +
	"MeanTokens MixColumns MixExperts MixTokens Recurrence RecurrenceNorms Rotate Scan Share SinkAttention Sinkhorn " +
	"TimeDecay")

// Every kernel is among the rowCases or in the list above.
func TestEveryKernelIsTriedAtTheEnds(t *testing.T) {
	kernels, named := []string{}, map[string]bool{}
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Recv != nil {
				continue
			}
			if d.Name.Name == "rowCases" {
				ast.Inspect(d, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						named[id.Name] = true
					}
					return true
				})
			}
			if d.Name.IsExported() && !f.test && returnsKernel(d) {
				kernels = append(kernels, d.Name.Name)
			}
		}
	}
	if len(kernels) < 20 {
		t.Fatalf("found %d kernels: %v", len(kernels), kernels)
	}
	for _, name := range kernels {
		if named[name] == slices.Contains(notRows, name) {
			t.Errorf("%s: want it in rowCases or in notRows", name)
		}
	}
}

// returnsKernel reports whether f returns (Expr, bool).
func returnsKernel(f *ast.FuncDecl) bool {
	var types []string
	if f.Type.Results != nil {
		for _, r := range f.Type.Results.List {
			switch kind := r.Type.(type) {
			case *ast.Ident:
				types = append(types, kind.Name)
			case *ast.SelectorExpr: // graph.Expr
				types = append(types, kind.Sel.Name)
			}
		}
	}
	return slices.Equal(types, []string{"Expr", "bool"})
}
