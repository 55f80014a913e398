package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Every kernel gives the same as float64, with its loops in Go and with vectors, on one thread and on three, in one
// chunk and in several.
func TestDispatch(t *testing.T) {
	formulas := kerneltest.Formulas()
	for _, n := range []int{7, 2*grain/5 + 3, grain} {
		for _, threads := range []int{1, 3} {
			p := NewPool(threads)
			want, _ := dispatched[float64](p, n)
			for name, set := range map[string]*simd.Set{"Go": nil, "vectors": formulas} {
				undo := simd.Use(set)
				got, names := dispatched[float32](p, n)
				undo()
				for i := range want {
					approx(
						t, fmt.Sprintf("%s, %d rows, %d threads, %s", name, n, threads, names[i]), got[i], want[i],
						1e-3,
					)
				}
			}
		}
	}
}

// dispatched returns the results of the kernels on n rows of 5 numbers.
func dispatched[T Float](p *Pool, n int) (results [][]T, names []string) {
	const d = 5
	rng := rand.New(rand.NewPCG(21, uint64(n)))
	draw := func(n int) []T { return kerneltest.Rounded[T](kerneltest.Random[float64](rng, n)) }
	x, y, w, b := draw(n*d), draw(n*d), draw(d), draw(d)
	ids, order := make([]int, n), []int{3, -1, 0, 4, 3, 2, 1}
	for i := range ids {
		ids[i] = (i*i + 2) % d
	}
	add := func(name string, f func(z []T), size int) {
		z := make([]T, size)
		for i := range z {
			z[i] = 9 // left by another use of the memory
		}
		f(z)
		results, names = append(results, z), append(names, name)
	}
	add("add", func(z []T) { Add(p, z, x, y) }, n*d)
	add("relu", func(z []T) { ReLU(p, z, x) }, n*d)
	add("relu, backward", func(z []T) { ReLUBackward(p, z, x, y) }, n*d)
	add("relu2", func(z []T) { ReLU2(p, z, x) }, n*d)
	add("relu2, backward", func(z []T) { ReLU2Backward(p, z, x, y) }, n*d)
	add("gelu", func(z []T) { GELU(p, z, x) }, n*d)
	add("gelu, backward", func(z []T) { GELUBackward(p, z, x, y) }, n*d)
	add("gelu of tanh", func(z []T) { GELUTanh(p, z, x) }, n*d)
	add("gelu of tanh, backward", func(z []T) { GELUTanhBackward(p, z, x, y) }, n*d)
	add("sigmoid", func(z []T) { Sigmoid(p, z, x) }, n*d)
	add("sigmoid, backward", func(z []T) { SigmoidBackward(p, z, x, y) }, n*d)
	add("softplus", func(z []T) { Softplus(p, z, x) }, n*d)
	add("softplus, backward", func(z []T) { SoftplusBackward(p, z, x, y) }, n*d)
	add("silu", func(z []T) { SiLU(p, z, x) }, n*d)
	add("silu, backward", func(z []T) { SiLUBackward(p, z, x, y) }, n*d)
	add("swiglu", func(z []T) { SwiGLU(p, z, x, y) }, n*d)
	up := draw(n * d)
	add("reglu", func(z []T) { Gated(p, ReLU[T], z, x, y) }, n*d)
	add(
		"reglu, backward", func(z []T) { GatedBackward(p, ReLU[T], ReLUBackward[T], z[:n*d], z[n*d:], x, up, y) },
		2*n*d,
	)
	add(
		"geglu, backward", func(z []T) { GatedBackward(p, GELU[T], GELUBackward[T], z[:n*d], z[n*d:], x, up, y) },
		2*n*d,
	)
	add("swiglu, backward", func(z []T) { SwiGLUBackward(p, z[:n*d], z[n*d:], x, up, y) }, 2*n*d)
	add("rows", func(z []T) { SumRows(p, z, x, make([]T, Parts*d)) }, d)
	add("gather", func(z []T) { Gather(p, z, x, ids, d) }, n*d)
	add("scatter", func(z []T) { ScatterAdd(p, z, y, ids, d) }, n*d)
	add("columns", func(z []T) { GatherCols(p, z, x, NewOrder(order), d) }, n*len(order))
	wide := draw(n * len(order))
	add("columns, backward", func(z []T) { GatherColsBackward(p, z, wide, NewOrder(order), d) }, n*d)
	add("dropout", func(z []T) { Dropout(p, z, x, DropMask{P: 0.3, Key: 3, Step: 5}) }, n*d)
	add("dropout from 77 on", func(z []T) { DropEntries(z, x, DropMask{P: 0.3, Key: 3, Step: 5}, 77) }, n*d)
	add("squares", func(z []T) { z[0] = T(SumSquares(p, x) / float64(n)) }, 1)
	add("softmax", func(z []T) { copy(z, x[:d]); Softmax(z, y[:d]) }, d)
	mean, spread := make([]T, n), make([]T, n)
	for _, norm := range []struct {
		name     string
		forward  func(p *Pool, y []T, n Norm[T])
		backward func(p *Pool, n Norm[T], dy []T, grads NormGrads[T])
	}{{"norm", LayerNorm[T], LayerNormBackward[T]}, {"norm of σ", LayerNormSigma[T], LayerNormSigmaBackward[T]}} {
		for _, shift := range [][]T{nil, b} {
			of := Norm[T]{X: x, W: w, B: shift, Mean: mean, Spread: spread, Eps: 0.1}
			add(norm.name, func(z []T) { norm.forward(p, z, of) }, n*d)
			grads := NormGrads[T]{X: make([]T, n*d), W: make([]T, d), B: make([]T, d), Scratch: make([]T, 2*Parts*d)}
			norm.backward(p, of, y, grads)
			for i, g := range [][]T{grads.X, grads.W, grads.B} {
				add(fmt.Sprint(norm.name, ", gradient ", i), func(z []T) { copy(z, g) }, len(g))
			}
			grads.X = nil
			if norm.name == "norm" {
				norm.backward(p, of, y, grads)
				add("norm of a constant", func(z []T) { copy(z, grads.W) }, d)
			}
		}
	}
	rms := Norm[T]{X: x, W: w, Spread: spread, Eps: 0.1}
	add("rms norm", func(z []T) { RMSNorm(p, z, rms) }, n*d)
	add("rms norm, backward", func(z []T) {
		RMSNormBackward(p, rms, y, NormGrads[T]{X: z[:n*d], W: z[n*d:], Scratch: make([]T, 2*Parts*d)})
	}, n*d+d)
	lse := make([]T, n)
	sum, kept := CrossEntropy(p, x, lse, ids, 4)
	add("cross entropy", func(z []T) { z[0], z[1] = T(sum/float64(n)), T(kept) }, 2)
	add("log-sum-exp", func(z []T) { copy(z, lse) }, n)
	add("cross entropy, backward", func(z []T) { CrossEntropyBackward(p, z, x, lse, ids, 4, 0.7) }, n*d)
	own := Regularized[T]{Smoothing: 0.3, ZLoss: 0.2, Means: make([]T, n)}
	total, _ := own.CrossEntropy(p, x, lse, ids, 4)
	add("regularised cross entropy", func(z []T) { z[0] = T(total / float64(n)) }, 1)
	add("regularised cross entropy, backward", func(z []T) { own.CrossEntropyBackward(p, z, x, lse, ids, 4, 0.7) }, n*d)
	factor := draw(n)
	factor[2] = 0
	add("rollout, backward", func(z []T) { ReinforceBackward(p, z, x, lse, factor, ids, 0.7) }, n*d)
	add("log probabilities", func(z []T) { LogProbs(p, z, x, make([]T, n), ids, 4) }, n)
	add("log probabilities, backward", func(z []T) { LogProbsBackward(p, z, x, lse, factor, ids, 4) }, n*d)
	m, v := make([]T, n*d), make([]T, n*d)
	add("adamw", func(z []T) {
		copy(z, x)
		for t := range 3 {
			Update(AdamW{LR: 0.1, Beta1: 0.5, Beta2: 0.75, Eps: 0.1, Decay: 0.2}, t+1, 0.7, z, y, m, v)
		}
	}, n*d)
	return results, names
}

// Every kernel uses vectors if they implement it.
func TestVectorsAreUsed(t *testing.T) {
	used := ""
	one := func(name string) func(y, x []float32) { return func(_, _ []float32) { used = name } }
	two := func(name string) func(z, x, y []float32) { return func(_, _, _ []float32) { used = name } }
	defer simd.Use(&simd.Set{
		Add: two("add"), Mul: two("mul"), Relu: one("relu"), ReluBackward: two("relu'"), Relu2: one("relu2"),
		Relu2Backward: two("relu2'"), Gelu: one("gelu"), GeluBackward: two("gelu'"),
		GeluTanh: one("tanh"), GeluTanhBackward: two("tanh'"), Sigmoid: one("sigmoid"),
		SigmoidBackward: two("sigmoid'"), Silu: one("silu"), SiluBackward: two("silu'"),
		Softplus: one("softplus"),
		Exp:      func(_, _ []float32, _, _ float32) { used = "exp" },
		Swiglu:   two("swiglu"), SwigluBackward: func(_, _, _, _, _ []float32) { used = "swiglu'" },
		RmsNorm:        func(_, _, _, _ []float32, _, _ float32) { used = "rms" },
		Softmax:        func(_, _ []float32, _, _ int) { used = "softmax" },
		ExpSum:         func([]float32) (float32, float64) { used = "expsum"; return 0, 1 },
		SumSquares:     func([]float32) float64 { used += "squares"; return 3 },
		LayerNorm:      func(_, _, _, _, _, _ []float32, _, _ float32) { used = "norm" },
		LayerNormSigma: func(_, _, _, _, _, _ []float32, _, _ float32) { used = "σ" },
		LayerNormBackward: func(_, _, _, _, _, _, _, _ []float32, _ float32) {
			used = "norm'"
		},
		AdamW:   func(_, _, _, _ []float32, _ *[9]float32) { used = "adamw" },
		Dropout: func(_, _ []float32, _, _, _ uint64, _ float32) { used = "dropout" },
	})()
	const n = Parts
	p := NewPool(1)
	s := func() []float32 { return make([]float32, n) }
	norm := Norm[float32]{X: s(), W: make([]float32, 1), Mean: s(), Spread: s()}
	for want, f := range map[string]func(){
		"add": func() { Add(p, s(), s(), s()) }, "relu": func() { ReLU(p, s(), s()) },
		"relu'": func() { ReLUBackward(p, s(), s(), s()) },
		"mul":   func() { Gated(p, ReLU[float32], s(), s(), s()) },
		"relu2": func() { ReLU2(p, s(), s()) }, "relu2'": func() { ReLU2Backward(p, s(), s(), s()) },
		"gelu": func() { GELU(p, s(), s()) }, "gelu'": func() { GELUBackward(p, s(), s(), s()) },
		"tanh": func() { GELUTanh(p, s(), s()) }, "tanh'": func() { GELUTanhBackward(p, s(), s(), s()) },
		"sigmoid": func() { Sigmoid(p, s(), s()) }, "sigmoid'": func() { SigmoidBackward(p, s(), s(), s()) },
		"silu": func() { SiLU(p, s(), s()) }, "silu'": func() { SiLUBackward(p, s(), s(), s()) },
		"softplus": func() { Softplus(p, s(), s()) },
		"exp":      func() { CrossEntropyBackward(p, s(), s(), s()[:1], []int{0}, -1, 1) },
		"softmax":  func() { Softmax(s(), s()) },
		"expsum":   func() { CrossEntropy(p, s(), s()[:1], []int{0}, -1) },
		"squares":  func() { SumSquares(p, s()) },
		"norm":     func() { LayerNorm(p, s(), norm) },
		"rms":      func() { RMSNorm(p, s(), norm) },
		"σ":        func() { LayerNormSigma(p, s(), norm) },
		"swiglu":   func() { SwiGLU(p, s(), s(), s()) },
		"swiglu'":  func() { SwiGLUBackward(p, s(), s(), s(), s(), s()) },
		"adamw":    func() { Update(AdamW{}, 1, 1, s(), s(), s(), s()) },
		"dropout":  func() { Dropout(p, s(), s(), DropMask{P: 0.5}) },
	} {
		used = ""
		if f(); used != want {
			t.Errorf("%s: used %q", want, used)
		}
	}
	undo := simd.Use(&simd.Set{
		Add:                    func(_, _, _ []float32) {},
		LayerNormBackward:      func(_, _, _, _, _, _, _, _ []float32, _ float32) { used = "norm'" },
		LayerNormSigmaBackward: func(_, _, _, _, _, _, _, _ []float32, _, _ float32) { used = "σ'" },
		RmsNormBackward:        func(_, _, _, _, _, _ []float32, _ float32) { used = "rms'" },
	})
	defer undo()
	grads := NormGrads[float32]{X: s(), W: make([]float32, 1), B: make([]float32, 1), Scratch: make([]float32, 2*Parts)}
	if LayerNormBackward(p, norm, s(), grads); used != "norm'" {
		t.Error("the norm's backward pass is computed in Go")
	}
	if LayerNormSigmaBackward(p, norm, s(), grads); used != "σ'" {
		t.Error("the backward pass of the norm of σ + ε is computed in Go")
	}
	if RMSNormBackward(p, norm, s(), grads); used != "rms'" {
		t.Error("the backward pass of the norm by squares is computed in Go")
	}
}

// Named columns are copied, others are 0, and their gradients are added up, by hand.
func TestColumns(t *testing.T) {
	columns[float32](t)
	columns[float64](t)
}

func columns[T Float](t *testing.T) {
	x, order := []T{1, 2, 3, 4, 5, 6}, []int{1, -1, 0, 1, 0}
	y, dx := []T{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}, []T{9, 9, 9, 9, 9, 9}
	GatherCols(NewPool(1), y, x, NewOrder(order), 2)
	if want := fmt.Sprint([]T{2, 0, 1, 2, 1, 4, 0, 3, 4, 3, 6, 0, 5, 6, 5}); fmt.Sprint(y) != want {
		t.Errorf("got %v, want %s", y, want)
	}
	GatherColsBackward(NewPool(1), dx, []T{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, NewOrder(order), 2)
	if want := fmt.Sprint([]T{8, 5, 18, 15, 28, 25}); fmt.Sprint(dx) != want {
		t.Errorf("got %v, want %s", dx, want)
	}
	table := []T{1, 2, 3, 4, 5, 6}
	Gather(NewPool(1), y[:4], table, []int{2, 0}, 2)
	if want := fmt.Sprint([]T{5, 6, 1, 2}); fmt.Sprint(y[:4]) != want {
		t.Errorf("got %v, want %s", y[:4], want)
	}
	ScatterAdd(NewPool(1), table, []T{1, 2, 3, 4, 5, 6}, []int{1, 2, 1}, 2)
	if want := fmt.Sprint([]T{0, 0, 6, 8, 3, 4}); fmt.Sprint(table) != want {
		t.Errorf("got %v, want %s", table, want)
	}
	large := []T{500, 499, 0}
	Softmax(large, []T{0, 0, T(math.Inf(-1))})
	if got := float64(large[0]); !(math.Abs(got-1/(1+math.Exp(-1))) <= 1e-6) || large[2] != 0 {
		t.Errorf("large scores have the weights %v", large)
	}
	Softmax(large[:0], nil)
}
