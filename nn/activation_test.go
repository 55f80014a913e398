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

var pooledLayerCases = []layerCase{
	{"sigmoid", "Sigmoid", func(_ Site, x graph.Expr) graph.Expr { return Sigmoid{}.Forward(x) }},
	{"silu", "SiLU", func(_ Site, x graph.Expr) graph.Expr { return SiLU{}.Forward(x) }},
	{"softplus", "Softplus", func(_ Site, x graph.Expr) graph.Expr { return Softplus{}.Forward(x) }},
	{"mean of tokens", "MeanTokens", func(at Site, x graph.Expr) graph.Expr { return NewMeanTokens(at).Forward(x) }},
	{
		"one token of each", "GatherTokens",
		func(at Site, x graph.Expr) graph.Expr { return NewGatherTokens(at, places(at)).Forward(x) },
	},
	{"squared error", "SquaredError", func(at Site, x graph.Expr) graph.Expr {
		return NewSquaredError(at.Scope).Forward(x, at.Param("y", graph.Normal(1), at.Batch*at.Context, at.Embd))
	}},
	{"binary cross entropy", "BinaryCrossEntropy", func(at Site, x graph.Expr) graph.Expr {
		return NewBinaryCrossEntropy(at.Scope).Forward(x, at.Param("y", graph.Normal(1), at.Batch*at.Context, at.Embd))
	}},
}

// entrywise returns the results of a layer for some numbers, and its derivative, in one form.
func entrywise(t *testing.T, l Layer, kernels bool, numbers ...float64) (y, slope []float64) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	g.Kernels = kernels
	x := g.Root().Value("x", graph.Const(0), 1, len(numbers))
	copy(x.Tensor().F64, numbers)
	out := l.Forward(x)
	return run(t, out).Value().Floats(), run(t, out.SumAll(), x).Grad(x).Floats()
}

// σ(x) + σ(−x) = 1, x·σ(x) − (−x)·σ(−x) = x, softplus(x) − softplus(−x) = x, and softplus' = σ, for x of every size.
func TestI60Symmetries(t *testing.T) {
	x := []float64{0, 0.3, 1.7, 14, 36, 200, 1000}
	minus := make([]float64, len(x))
	for i, v := range x {
		minus[i] = -v
	}
	for _, kernels := range []bool{false, true} {
		at := func(l Layer) (right, left, slope []float64) {
			right, slope = entrywise(t, l, kernels, x...)
			left, _ = entrywise(t, l, kernels, minus...)
			return right, left, slope
		}
		s, t0, _ := at(Sigmoid{})
		u, u0, _ := at(SiLU{})
		p, p0, dp := at(Softplus{})
		for i, v := range x {
			for what, pair := range map[string][2]float64{
				"σ(x) + σ(−x)": {s[i] + t0[i], 1}, "silu(x) − silu(−x)": {u[i] - u0[i], v},
				"softplus(x) − softplus(−x)": {p[i] - p0[i], v}, "softplus'": {dp[i], s[i]},
				"silu(x)/x": {u[i], v * s[i]},
			} {
				if got, want := pair[0], pair[1]; !(math.Abs(got-want) <= 1e-15*max(1, v)) {
					t.Errorf("kernels %t, %s at %v: got %v, want %v", kernels, what, v, got, want)
				}
			}
		}
	}
}

// c·tanh(x/c) is odd, has the derivative 1 at 0 and stays below c.
func TestI77SoftCap(t *testing.T) {
	y, slope := entrywise(t, SoftCap{Cap: 3}, true, 0, 2, -2, 1e6, -1e6)
	if y[0] != 0 || slope[0] != 1 || y[1] != -y[2] || !(math.Abs(y[1]-3*math.Tanh(2./3)) <= 1e-15) || y[3] != 3 ||
		y[4] != -3 || slope[3] != 0 {
		t.Errorf("got %v with slopes %v", y, slope)
	}
}

// The least value of x·σ(x) is −0.2785 at −1.2785, where the derivative changes its sign: 1 + x = e^(−x)·(−1) there.
func TestI60LeastSiLU(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		y, slope := entrywise(t, SiLU{}, kernels, -1.2784645427610738)
		if !(math.Abs(y[0]+0.2784645427610738) <= 1e-15) || !(math.Abs(slope[0]) <= 1e-15) {
			t.Errorf("kernels %t: got %v with slope %v", kernels, y, slope)
		}
	}
}

// silu(z) − silu(−z) = z: negating the gate's weights subtracts the result for a linear gate, (z_g ∘ z_u)·w_d, for any
// numbers.
func TestI65GateWithoutABend(t *testing.T) {
	d := Dims{Batch: 1, Context: 3, Embd: 5, Inner: 7, Blocks: 1}
	of := func(kernels bool, sign float64, build func(l *GLU, x graph.Expr) graph.Expr) []float64 {
		g := graph.New(graph.Float64, 3)
		g.Kernels = kernels
		x := g.Root().Value("x", graph.Normal(20), d.Context, d.Embd)
		l := NewGLU(Site{Scope: g.Root().Sub("mlp"), Dims: d}, SiLU{})
		for _, p := range g.Params() {
			for i := range p.Tensor().Len() {
				if p.Tensor().Set(i, 50*p.Tensor().At(i)); p.Name() == "mlp.c_gate.weight" {
					p.Tensor().Set(i, sign*p.Tensor().At(i))
				}
			}
		}
		return run(t, build(l, x)).Value().Floats()
	}
	for _, kernels := range []bool{false, true} {
		layer := func(l *GLU, x graph.Expr) graph.Expr { return l.Forward(x) }
		with, without := of(kernels, 1, layer), of(kernels, -1, layer)
		straight := of(kernels, 1, func(l *GLU, x graph.Expr) graph.Expr {
			return l.Proj.Forward(l.Gate.Forward(x).Mul(l.Fc.Forward(x)))
		})
		for i, want := range straight {
			if got := with[i] - without[i]; !(math.Abs(got-want) <= 1e-13*max(
				math.Abs(with[i]), math.Abs(without[i]),
			)) {
				t.Errorf("kernels %t, entry %d: got %v, want %v", kernels, i, got, want)
			}
		}
	}
}

// The input goes to c_gate and c_fc, which give different results, and c_proj gets the product of both. A literal
// without these layers is an error of the place of the call.
func TestGLUPlaces(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at, x := placeSite(g)
		NewGLU(at, SiLU{}).Forward(x).In(g.Root())
		nodes := map[string]any{}
		for _, place := range []string{"h.1", "h.1.c_gate", "h.1.c_fc", "h.1.c_proj"} {
			in, err := g.Entering(place)
			if err != nil {
				t.Fatal(err)
			}
			out, err := g.Leaving(place)
			if err != nil {
				t.Fatal(err)
			}
			nodes[place], nodes[place+", out"] = in.Node(), out.Node()
		}
		for _, place := range []string{"h.1", "h.1.c_gate", "h.1.c_fc"} {
			if nodes[place] != x.Node() {
				t.Errorf("kernels %t: x is not the input of %s", kernels, place)
			}
			if out := nodes[place+", out"]; out == x.Node() || out == nodes["h.1.c_proj"] {
				t.Errorf("kernels %t: %s shares its result", kernels, place)
			}
		}
		new(GLU).Forward(x)
		if g.Err() == nil {
			t.Errorf("kernels %t: a literal has no error", kernels)
		}
	}
}

// onesDropped is dropout of a matrix of ones in a separate graph, and its gradient for Δ = 1, 2, 3, …
type onesDropped struct {
	g     *graph.Graph
	value func(t *testing.T) (y, dx []float64)
}

func dropOnes(t *testing.T, p float64, n int, kernels bool, place string) onesDropped {
	t.Helper()
	g := graph.New(graph.Float64, 7)
	g.Kernels = kernels
	at := newSite(g, shapes[0])
	at.Dropout = p
	x := g.Root().Value("x", graph.Const(1), n, 1)
	delta := g.Root().Value("delta", graph.Const(0), n, 1)
	for i := range n {
		delta.Tensor().Set(i, float64(i+1))
	}
	y := NewDropout(at.At(place)).Forward(x)
	forward, err := graph.Compile(y)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	backward, err := graph.Compile(y.Mul(delta).SumAll(), x)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	return onesDropped{g, func(t *testing.T) ([]float64, []float64) {
		t.Helper()
		if err := forward.Run(); err != nil {
			t.Fatal(err)
		}
		y := slices.Clone(forward.Value().Floats())
		if err := backward.Run(); err != nil {
			t.Fatal(err)
		}
		return y, slices.Clone(backward.Grad(x).Floats())
	}}
}

// Entries that are not dropped are divided by 1 − p, so that the mean of many entries stays, within four standard
// deviations.
func TestI28MeanIsKept(t *testing.T) {
	const n = 100_000
	for _, kernels := range []bool{true, false} {
		for _, p := range []float64{0.1, 0.5, 0.9} {
			y, _ := dropOnes(t, p, n, kernels, "drop").value(t)
			sum := 0.0
			for i, v := range y {
				if v != 0 && !(math.Abs(v*(1-p)-1) <= 1e-15) {
					t.Fatalf("p = %v: entry %d is %v, want 0 or %v", p, i, v, 1/(1-p))
				}
				sum += v
			}
			if most := 4 * math.Sqrt(p/(1-p)/n); !(math.Abs(sum/n-1) <= most) {
				t.Errorf("kernels %t, p = %v: the mean is %v, want 1 ± %.2g", kernels, p, sum/n, most)
			}
		}
	}
}

// In evaluation nothing is dropped or scaled, to the bit, forwards and backwards.
func TestI28IdentityInEvaluation(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		d := dropOnes(t, 0.7, 50, kernels, "drop")
		d.g.SetTraining(false)
		y, dx := d.value(t)
		for i := range y {
			if y[i] != 1 || dx[i] != float64(i+1) {
				t.Fatalf("kernels %t: entry %d is %v with the gradient %v, want 1 and %d", kernels, i, y[i], dx[i], i+1)
			}
		}
	}
}

// The mask is a function of seed, place, step and entry: the same in every run, in both forms and for Δ, which passes
// where the activation passed, and another one at another place or step.
func TestI28MaskIsFixed(t *testing.T) {
	const n, p = 400, 0.3
	first := dropOnes(t, p, n, true, "drop")
	mask := first.g.DropoutMask("h.0.drop", p, n)
	for name, d := range map[string]onesDropped{
		"first": first, "again": first, "spelled": dropOnes(t, p, n, false, "drop"),
	} {
		d.g.SetStep(0)
		y, dx := d.value(t)
		for i := range y {
			if want := float64(i+1) * mask[i]; y[i] != mask[i] || !(math.Abs(dx[i]-want) <= 1e-12*want) {
				t.Fatalf("%s: entry %d is %v with the gradient %v, want %v and %v", name, i, y[i], dx[i], mask[i], want)
			}
		}
	}
	other, _ := dropOnes(t, p, n, true, "drop_2").value(t)
	first.g.SetStep(1)
	later, _ := first.value(t)
	for name, m := range map[string][]float64{"another place": other, "another step": later} {
		same := 0
		for i := range m {
			if m[i] == mask[i] {
				same++
			}
		}
		// Two independent masks agree in p² + (1 − p)² of the entries.
		want := (p*p + (1-p)*(1-p)) * n
		if !(math.Abs(float64(same)-want) <= 4*math.Sqrt(n)/2) {
			t.Errorf("%s: %d of %d entries are as before, want about %v", name, same, n, want)
		}
	}
}

// In evaluation every layer with dropout equals the same layer without it, and in training it does not.
func TestI28LayersInEvaluation(t *testing.T) {
	for name, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"attention": func(at Site, x graph.Expr) graph.Expr { return NewSelfAttention(at).Forward(x) },
		"mlp":       func(at Site, x graph.Expr) graph.Expr { return NewMLP(at).Forward(x) },
		"swiglu":    func(at Site, x graph.Expr) graph.Expr { return NewGLU(at, SiLU{}).Forward(x) },
		"block":     func(at Site, x graph.Expr) graph.Expr { return NewBlock(at, causal).Forward(x) },
	} {
		for _, kernels := range []bool{true, false} {
			run := func(p float64, training bool) graph.Tensor {
				g := graph.New(graph.Float64, 7)
				g.Kernels = kernels
				at := newSite(g, shapes[0])
				at.Dropout = p
				y := build(at, g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd))
				for _, p := range g.Params() {
					for i := range p.Tensor().Len() {
						p.Tensor().Set(i, p.Tensor().At(i)+0.3*math.Sin(float64(i+1)))
					}
				}
				g.SetTraining(training)
				return output(t, y)
			}
			what := fmt.Sprintf("%s, kernels %t", name, kernels)
			plain := run(0, true)
			if e := distance(run(0.4, false), plain, 0); e != 0 {
				t.Errorf("%s: evaluation is %.2g off the layer without dropout, want 0", what, e)
			}
			if e := distance(run(0.4, true), plain, 0); !(e > 0.01) {
				t.Errorf("%s: training is %.2g off the layer without dropout, want more", what, e)
			}
		}
	}
}

// experts returns at with k of n experts.
func experts(at Site, k, n int, change ...func(*Experts)) Site {
	at.Experts = Experts{Routing: Routing{Router: fused.Router{Experts: n, Active: k}}}
	for _, f := range change {
		f(&at.Experts)
	}
	return at
}

func mixtureOf(k, n int, change ...func(*Experts)) func(at Site, x graph.Expr) graph.Expr {
	return func(at Site, x graph.Expr) graph.Expr { return NewMoE(experts(at, k, n, change...)).Forward(x) }
}

var expertLayerCases = []layerCase{
	{"mixture of experts", "MoE Routing", mixtureOf(2, 5)},
	{"mixture of normalised experts", "MoE Routing", mixtureOf(3, 4, func(e *Experts) { e.Norm, e.Shared = true, 2 })},
	{"mixture by a sigmoid", "MoE Routing", mixtureOf(2, 3, func(e *Experts) { e.Sigmoid, e.Norm = true, true })},
	{"mixture of one expert", "MoE Routing", mixtureOf(1, 1)},
	{"mixture with dropout and adapters", "MoE Routing", func(at Site, x graph.Expr) graph.Expr {
		at.Affine, at.Dropout = NewLoRA(func(path string) bool { return !strings.HasSuffix(path, "c_fc") }, 2, 0.7), 0.3
		return NewMoE(experts(at, 2, 3)).Forward(x)
	}},
	{"clamped mixture with dropout and adapters", "MoE Routing", func(at Site, x graph.Expr) graph.Expr {
		at.Affine, at.Dropout = NewLoRA(func(path string) bool { return !strings.HasSuffix(path, "c_fc") }, 2, 0.7), 0.3
		return NewClampedMoE(experts(at, 2, 3, func(e *Experts) {
			e.Limit, e.Norm = 0.5, true
			e.Shared = 1
		})).Forward(x)
	}},
	{"mixture with a bias that balances", "MoE Routing", mixtureOf(2, 5, func(e *Experts) { e.BiasRate = 0.1 })},
	{"balanced experts", "SwitchLoss", func(at Site, x graph.Expr) graph.Expr {
		return SwitchLoss{Routing{Router: fused.Router{Experts: at.Embd, Active: (at.Embd + 1) / 2}}}.Forward(x)
	}},
	{"balanced experts by a sigmoid", "SwitchLoss", func(at Site, x graph.Expr) graph.Expr {
		return SwitchLoss{Routing{Router: fused.Router{Experts: at.Embd, Active: 1, Sigmoid: true}}}.Forward(x)
	}},
}

// mixtureAt returns a mixture of gated MLPs with k of n experts, its input of the given numbers of tokens, and the
// graph.
func mixtureAt(kernels bool, tokens, k, n int, change ...func(*Experts)) (*MoE, graph.Expr, *graph.Graph) {
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	at := newSite(g, Dims{Batch: 1, Context: tokens, Embd: 6, Heads: 1, QK: 2, V: 2, Inner: 5, Blocks: 1})
	l := NewMoE(experts(at, k, n, change...))
	for _, p := range g.Params() {
		for i := range p.Tensor().F64 {
			p.Tensor().F64[i] *= 40
		}
	}
	return l, at.Value("x", graph.Normal(1), tokens, 6), g
}

// If all experts are equal and the gates of a token add to 1, the mixture is one of its experts, however tokens are
// routed.
func TestI114EqualExperts(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		l, x, g := mixtureAt(kernels, 7, 2, 4, func(e *Experts) { e.Norm = true })
		for _, p := range g.Params() {
			first, _, _ := strings.Cut(p.Name(), "experts.")
			if _, name, ok := strings.Cut(p.Name(), "experts."); ok {
				same, _ := g.Leaf(first + "experts.0" + name[1:])
				copy(p.Tensor().F64, same.Tensor().F64)
			}
		}
		got, want := run(t, l.Forward(x)).Value().Floats(), run(t, l.Experts[0].Forward(x)).Value().Floats()
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= 1e-12*max(1, math.Abs(want[i]))) {
				t.Fatalf("kernels %t, entry %d: got %v, want %v", kernels, i, got[i], want[i])
			}
		}
	}
}

// Equal probabilities belong to the earlier experts. The other experts have gradient 0 in every parameter, and so do
// their columns of the router's logits with a sigmoid.
func TestI114TiesAndExpertsWithoutTokens(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		l, x, g := mixtureAt(kernels, 5, 2, 4, func(e *Experts) { e.Sigmoid = true })
		router, _ := g.Leaf("h.0.router.weight")
		for i := range router.Tensor().F64 {
			router.Tensor().F64[i] = 0
		}
		y := l.Forward(x)
		p := run(t, y.Square().SumAll(), g.Params()...)
		for _, w := range g.Params() {
			grad := p.Grad(w).Floats()
			none := !slices.ContainsFunc(grad, func(v float64) bool { return v != 0 })
			_, late, _ := strings.Cut(w.Name(), "experts.")
			if late = late[:min(1, len(late))]; late == "" {
				for i, v := range grad {
					if (i%4 < 2) == (v == 0) || v != v {
						t.Errorf("kernels %t, %s: got gradient %v in column %d", kernels, w.Name(), v, i%4)
					}
				}
			} else if none != (late >= "2") {
				t.Errorf("kernels %t, %s: got gradient %v", kernels, w.Name(), grad)
			}
		}
	}
}

// A loss of balanced experts is k, and no expert can lower it below that by probabilities that agree with the choices.
func TestI115BalancedExperts(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		z := g.Root().Value("z", graph.Const(0), 4, 4)
		loss := SwitchLoss{Routing{Router: fused.Router{Experts: 4, Active: 2}}}.Forward(z)
		p := run(t, loss)
		for i := range 4 {
			z.Tensor().F64[4*i+i], z.Tensor().F64[4*i+(i+1)%4] = 30, 30
		}
		if err := p.Run(); err != nil || !(math.Abs(p.Value().At(0)-2) <= 1e-12) {
			t.Errorf("kernels %t: got %v, %v, want 2 for balanced experts", kernels, p.Value().At(0), err)
		}
		for i := range 4 {
			clear(z.Tensor().F64[4*i : 4*i+4])
			z.Tensor().F64[4*i], z.Tensor().F64[4*i+1] = 30, 30
		}
		if err := p.Run(); err != nil || !(math.Abs(p.Value().At(0)-4) <= 1e-12) {
			t.Errorf("kernels %t: got %v, %v, want 4 for two experts alone", kernels, p.Value().At(0), err)
		}
	}
}

// The loss of several mixtures is the sum of their losses.
func TestBalanceSums(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	var b Balance
	want := 0.0
	for i := range 3 {
		r := Routing{Router: fused.Router{Experts: 4, Active: 1 + i}}
		z := g.Root().Value(fmt.Sprint("z", i), graph.Normal(1), 5, 4)
		b.Add(z, r)
		want += run(t, SwitchLoss{r}.Forward(z)).Value().At(0)
	}
	sum, ok := b.Loss()
	if got := run(t, sum).Value().At(0); !ok || !(math.Abs(got-want) <= 1e-12) {
		t.Errorf("got %v, %t, want %v", got, ok, want)
	}
}

// TestI118BiasOnlyChooses: with a bias, the experts are those with the largest p + b, ties by index, and their gates
// are p. A bias that is the same for all experts changes nothing. Its gradient is 0.
func TestI118BiasOnlyChooses(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for _, c := range []struct{ bias, want []float64 }{
			{[]float64{0, 0, 0, 0}, []float64{0, 0, 0.3, 0.4}},
			{[]float64{-7, -7, -7, -7}, []float64{0, 0, 0.3, 0.4}},
			{[]float64{0.25, 0, 0, 0}, []float64{0.1, 0, 0, 0.4}},
			{[]float64{0, 0, -0.3, -0.4}, []float64{0.1, 0.2, 0, 0}},   // scores 0.1, 0.2, 0, 0
			{[]float64{-9, -8, -0.3, -0.4}, []float64{0, 0, 0.3, 0.4}}, // both scores are 0
		} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			z := g.Root().Value("z", func(i int, _ *rand.Rand) float64 { return math.Log(float64(i+1) / 10) }, 1, 4)
			bias := g.Root().Param("b", func(i int, _ *rand.Rand) float64 { return c.bias[i] }, 4)
			y := Routing{Router: fused.Router{Experts: 4, Active: 2}, Bias: bias}.Forward(z)
			p := run(t, y.Square().SumAll(), bias, y)
			got := run(t, y).Value().Floats()
			for e, want := range c.want {
				if !(math.Abs(got[e]-want) <= 1e-15) {
					t.Errorf("kernels %t, bias %v: got gates %v, want %v", kernels, c.bias, got, c.want)
				}
				if slope := p.Grad(bias).At(e); slope != 0 {
					t.Errorf("kernels %t, bias %v: got its gradient %v, want 0", kernels, c.bias, slope)
				}
			}
		}
	}
}

// TestI118Rebalance: experts with few tokens are preferred from then on, by the rate, and those with many are not.
func TestI118Rebalance(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		l, x, g := mixtureAt(
			kernels, 6, 1, 3, func(e *Experts) { e.Sigmoid, e.BiasRate, e.Loads = true, 0.25, new(Loads) },
		)
		router, _ := g.Leaf("h.0.router.weight")
		for i := range router.Tensor().F64 {
			router.Tensor().F64[i] = 0 // p = ½: all tokens choose the first
		}
		l.Forward(x)
		load := l.loads.List()[0]
		p := run(t, load.Count)
		for _, c := range []struct{ count, bias []float64 }{
			{[]float64{6, 0, 0}, []float64{-0.25, 0.25, 0.25}},
			{[]float64{0, 6, 0}, []float64{0, 0, 0.5}},
			{[]float64{0, 0, 6}, []float64{0.25, 0.25, 0.25}},
			{[]float64{6, 0, 0}, []float64{0, 0.5, 0.5}},
		} {
			if err := p.Run(); err != nil || !slices.Equal(p.Value().Floats(), c.count) {
				t.Fatalf("kernels %t: got %v, %v tokens, want %v", kernels, p.Value().Floats(), err, c.count)
			}
			load.Rebalance(c.count)
			if got := load.Bias.Tensor().Floats(); !slices.Equal(got, c.bias) {
				t.Fatalf("kernels %t: after %v tokens got bias %v, want %v", kernels, c.count, got, c.bias)
			}
		}
		if load.Name != "h.0" || load.Tokens != 6 || load.Rate != 0.25 || !IsBalancing(load.Bias) {
			t.Errorf("got the load %+v", load)
		}
		load.Rebalance([]float64{2, 2, 2})
		if got := load.Bias.Tensor().Floats(); !slices.Equal(got, []float64{0, 0.5, 0.5}) {
			t.Errorf("of balanced experts got bias %v, want it unchanged", got)
		}
	}
}

// NewMoE names both numbers.
func TestExpertsAreRefused(t *testing.T) {
	for _, c := range []struct {
		k, n, shared int
		want         string
	}{
		{3, 2, 0, "3 of 2 experts"}, {0, 2, 0, "0 of 2 experts"}, {-1, 2, 0, "-1 of 2 experts"},
		{1, 0, 0, "1 of 0 experts"}, {1, 2, -1, "-1 shared experts"},
	} {
		_, _, g := mixtureAt(true, 3, c.k, c.n, func(e *Experts) { e.Shared = c.shared })
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
	for _, limit := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		g := graph.New(graph.Float32, 7)
		NewClampedMoE(experts(newSite(g, shapes[0]), 1, 2, func(e *Experts) { e.Limit = limit }))
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), fmt.Sprint("the limit ", limit)) {
			t.Errorf("got error %v, want the limit %v in it", err, limit)
		}
	}
	for _, u := range []float64{-0.1, 1, math.NaN()} {
		_, _, g := mixtureAt(true, 3, 1, 2, func(e *Experts) { e.BiasRate = u })
		if err := g.Err(); err == nil || !strings.Contains(err.Error(), fmt.Sprint("the rate ", u)) {
			t.Errorf("got error %v, want the rate %v in it", err, u)
		}
	}
}
