package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Every kernel uses vectors if they implement it.
func TestVectorsAreUsed(t *testing.T) {
	used := ""
	one := func(name string) func(y, x []float32) { return func(_, _ []float32) { used = name } }
	two := func(name string) func(z, x, y []float32) { return func(_, _, _ []float32) { used = name } }
	defer simd.Use(&simd.Set{
		Add: two("add"), Relu: one("relu"), ReluBackward: two("relu'"), Gelu: one("gelu"), GeluBackward: two("gelu'"),
		GeluTanh: one("tanh"), GeluTanhBackward: two("tanh'"), Sigmoid: one("sigmoid"), SigmoidBackward: two("sigmoid'"), Silu: one("silu"), SiluBackward: two("silu'"),
		Exp:    func(_, _ []float32, _, _ float32) { used = "exp" },
		Swiglu: two("swiglu"), SwigluBackward: func(_, _, _, _, _ []float32) { used = "swiglu'" },
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
		"add": func() { Add(p, s(), s(), s()) }, "relu": func() { ReLU(p, s(), s()) }, "relu'": func() { ReLUBackward(p, s(), s(), s()) },
		"gelu": func() { GELU(p, s(), s()) }, "gelu'": func() { GELUBackward(p, s(), s(), s()) },
		"tanh": func() { GELUTanh(p, s(), s()) }, "tanh'": func() { GELUTanhBackward(p, s(), s(), s()) },
		"sigmoid": func() { Sigmoid(p, s(), s()) }, "sigmoid'": func() { SigmoidBackward(p, s(), s(), s()) },
		"silu": func() { SiLU(p, s(), s()) }, "silu'": func() { SiLUBackward(p, s(), s(), s()) },
		"exp":          func() { CrossEntropyBackward(p, s(), s(), s()[:1], []int{0}, -1, 1) },
		"softmax":      func() { Softmax(s(), s()) },
		"expsum":       func() { CrossEntropy(p, s(), s()[:1], []int{0}, -1) },
		"squares":      func() { SumSquares(p, s()) },
		"norm":         func() { LayerNorm(p, s(), norm) },
		"rms":          func() { RMSNorm(p, s(), norm) },
		"σ":            func() { LayerNormSigma(p, s(), norm) },
		"swiglu":       func() { SwiGLU(p, s(), s(), s()) },
		"swiglu'":      func() { SwiGLUBackward(p, s(), s(), s(), s(), s()) },
		"adamwsquares": func() { Update(p, AdamW{}, 1, 1, s(), s(), s(), s()) },
		"dropout":      func() { Dropout(p, s(), s(), DropMask{P: 0.5}) },
	} {
		used = ""
		if f(); used != want {
			t.Errorf("%s: used %q", want, used)
		}
	}
	used = ""
	if Softplus(p, s(), s()); used != "exp" {
		t.Errorf("softplus: used %q", used)
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
	GatherCols(NewPool(1), y, x, order, 2)
	if want := fmt.Sprint([]T{2, 0, 1, 2, 1, 4, 0, 3, 4, 3, 6, 0, 5, 6, 5}); fmt.Sprint(y) != want {
		t.Errorf("got %v, want %s", y, want)
	}
	GatherColsBackward(NewPool(1), dx, []T{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, order, 2)
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
