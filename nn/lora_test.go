package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// output runs y and returns a copy of the result.
func output(t *testing.T, y graph.Expr) graph.Tensor {
	t.Helper()
	p, err := graph.Compile(y)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p.Value().Clone()
}

// adapted returns attention and an MLP with adapters, and the same model without them on the same numbers.
func adapted(t *testing.T, kernels bool) (y, base graph.Expr, adapters []*LoRA) {
	t.Helper()
	g := graph.New(graph.Float64, 5)
	g.Kernels = kernels
	build := func(g *graph.Graph, affine Affine) graph.Expr {
		at := newSite(g, shapes[0])
		at.Affine = func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
			l := affine(s, in, out, bias, init)
			if l, ok := l.(*LoRA); ok {
				adapters = append(adapters, l)
			}
			return l
		}
		x := g.Root().Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)
		return NewMLP(at.At("mlp")).Forward(NewSelfAttention(at.At("attn")).Forward(x))
	}
	targets := func(path string) bool { return strings.HasSuffix(path, "c_attn") || strings.HasSuffix(path, "c_fc") }
	y = build(g, NewLoRA(targets, 2, 0.7))
	return y, build(g.Sibling(), NewLinear), adapters
}

// TestI26StartsAsTheBase: u is 0, so the adapter adds nothing, to the bit.
func TestI26StartsAsTheBase(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		y, base, _ := adapted(t, kernels)
		if e := distance(output(t, y), output(t, base), 0); e != 0 {
			t.Errorf("kernels %t: distance %.2g, want 0", kernels, e)
		}
	}
}

// TestI26MergeKeepsTheFunction: after merging, the base alone computes the function.
func TestI26MergeKeepsTheFunction(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		y, base, adapters := adapted(t, kernels)
		rng, pairs := rand.New(rand.NewPCG(1, 2)), 0
		for _, l := range adapters {
			for _, a := range l.Adapters {
				pairs++
				u := a.Up.Tensor()
				for i := range u.Len() {
					u.Set(i, rng.NormFloat64())
				}
			}
		}
		if pairs != 4 { // q, k and v of c_attn, and c_fc
			t.Errorf("%d adapters, want 4", pairs)
		}
		before, plain := output(t, y), output(t, base)
		if e := distance(before, plain, 0); !(e > 1e-3) {
			t.Errorf("kernels %t: the adapters change the result by %.2g only", kernels, e)
		}
		for _, l := range adapters {
			l.Merge()
		}
		for what, after := range map[string]graph.Tensor{"merged": output(t, y), "the base alone": output(t, base)} {
			if e := distance(after, before, 0); !(e <= 1e-12) {
				t.Errorf("kernels %t, %s: distance %.2g, want ≤ 1e-12", kernels, what, e)
			}
		}
		for _, l := range adapters {
			for _, a := range l.Adapters {
				for i, v := range a.Up.Tensor().Floats() {
					if v != 0 || math.Signbit(v) {
						t.Fatalf("%s[%d] is %v after merging, want 0", a.Up.Name(), i, v)
					}
				}
			}
		}
	}
}

// A layer whose shapes are not those of NewLoRA stays unchanged.
func TestMergeLeavesWhatIsTorn(t *testing.T) {
	for name, tear := range map[string]func(a *Adapter, other graph.Expr){
		"no d":           func(a *Adapter, _ graph.Expr) { a.Down = graph.Expr{} },
		"other inputs":   func(a *Adapter, other graph.Expr) { a.Down = other },
		"other outputs":  func(a *Adapter, other graph.Expr) { a.Up = other },
		"fewer columns":  func(a *Adapter, _ graph.Expr) { a.To-- },
		"before columns": func(a *Adapter, _ graph.Expr) { a.From, a.To = a.From-1, a.To-1 },
		"behind columns": func(a *Adapter, _ graph.Expr) { a.From, a.To = a.From+1, a.To+1 },
	} {
		s := graph.New(graph.Float64, 1).Root()
		l := NewLoRA(func(string) bool { return true }, 2, 1)(s, 3, []int{5}, false, graph.Normal(1)).(*LoRA)
		before := l.Base.Weight.Tensor().Floats()
		for i := range l.Adapters[0].Up.Tensor().Len() {
			l.Adapters[0].Up.Tensor().Set(i, 1)
		}
		tear(&l.Adapters[0], s.Param("other", graph.Const(1), 2, 4))
		l.Merge()
		if after := l.Base.Weight.Tensor().Floats(); !slices.Equal(before, after) {
			t.Errorf("%s: the weight has changed", name)
		}
	}
}

func everywhere(string) bool { return true }

// TestLoRAIsKernels: with kernels for all operations, a block with adapters can drop its activations; training then
// gives the same bits in less memory.
func TestLoRAIsKernels(t *testing.T) {
	d := Dims{Batch: 2, Context: 9, Embd: 8, Heads: 2, QK: 3, V: 5, Inner: 13, Blocks: 3}
	train := func(places ...string) (loss float64, grads [][]float64, bytes int) {
		g := graph.New(graph.Float64, 7)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		at := newSite(g, d)
		at.Affine, at.Dropout = NewLoRA(everywhere, 2, 0.7), 0.2
		for _, name := range []string{"a", "b", "c"} {
			x = NewBlock(at.At(name), causal).Forward(x)
		}
		g.Recompute(places...)
		p, err := graph.Compile(NewCrossEntropy(g.Root()).Forward(x, ids(at, d.Embd, -1)), g.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for _, w := range g.Params() {
			grads = append(grads, p.Grad(w).Floats())
		}
		return p.Loss(), grads, g.Bytes()
	}
	loss, grads, kept := train()
	again, grads2, bytes := train("h.0.a", "h.0.b", "h.0.c")
	if again != loss {
		t.Errorf("loss %v, without recomputation %v", again, loss)
	}
	if diff := cmp.Diff(grads, grads2); diff != "" {
		t.Errorf("gradients differ")
	}
	if !(bytes < kept) {
		t.Errorf("%d bytes with recomputation, %d without", bytes, kept)
	}
}
