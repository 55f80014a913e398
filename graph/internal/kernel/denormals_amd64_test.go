package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// noDenormals asserts that f neither meets nor produces a number below the normal ones.
func noDenormals(t *testing.T, name string, f func()) {
	t.Helper()
	if met, produced := kerneltest.Denormals(f); met || produced {
		t.Errorf("%s: numbers below the normal ones: met %v, produced %v, want none", name, met, produced)
	}
}

// TestDenormalsAreNoticed: the check of the other tests works.
func TestDenormalsAreNoticed(t *testing.T) {
	tiny, small := []float32{1e-40}, []float32{1e-30}
	for _, c := range []struct {
		x, y          []float32
		met, produced bool
	}{
		{small, []float32{1}, false, false},
		{tiny, []float32{1}, true, false},
		{small, []float32{1e-11}, false, true},
		{small, []float32{1e-30}, false, true}, // 0
	} {
		c := c
		var product float32
		met, produced := kerneltest.Denormals(func() { product = c.x[0] * c.y[0] })
		if met && !c.met || produced != c.produced {
			t.Errorf(
				"%v·%v = %v: met %v, produced %v, want %v, %v", c.x, c.y, product, met, produced, c.met, c.produced,
			)
		}
	}
}

// spread returns n numbers from −most to most, all of them normal.
func spread(n int, most float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(most * (2*(float64(i)+0.5)/float64(n) - 1))
	}
	return x
}

// TestVectorsMakeNoDenormals uses arguments from the range in which the functions fall below the normal numbers, and
// gradients as at the end of training.
func TestVectorsMakeNoDenormals(t *testing.T) {
	const n = 100_003
	rng := rand.New(rand.NewPCG(1, 1))
	y, z, up := make([]float32, n), make([]float32, n), kerneltest.Random[float32](rng, n)
	dy := make([]float32, n)
	for i := range dy {
		dy[i] = 1e-6 * float32(2*(i%17)-17)
	}
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		for _, most := range []float64{20, 120, 1e5, 3e38} {
			x := spread(n, most)
			for name, f := range map[string]func(){
				"exp":              func() { v.Exp(y, x, 0, 1) },
				"exp, scaled":      func() { v.Exp(y, x, -5, 1./768) },
				"exp, enlarged":    func() { v.Exp(y, x, 5, 768) },
				"expSum":           func() { v.ExpSum(x) },
				"gelu":             func() { v.Gelu(y, x) },
				"geluBackward":     func() { v.GeluBackward(y, x, dy) },
				"geluTanh":         func() { v.GeluTanh(y, x) },
				"geluTanhBackward": func() { v.GeluTanhBackward(y, x, dy) },
				"sigmoid":          func() { v.Sigmoid(y, x) },
				"sigmoidBackward":  func() { v.SigmoidBackward(y, x, dy) },
				"silu":             func() { v.Silu(y, x) },
				"siluBackward":     func() { v.SiluBackward(y, x, dy) },
				"softplus":         func() { v.Softplus(y, x) },
				"swiglu":           func() { v.Swiglu(y, x, up) },
				"swigluBackward":   func() { v.SwigluBackward(y, z, x, up, dy) },
				"relu":             func() { v.Relu(y, x) },
				"reluBackward":     func() { v.ReluBackward(y, x, dy) },
				"relu2":            func() { v.Relu2(y, x) },
				"relu2Backward":    func() { v.Relu2Backward(y, x, dy) },
				"dropout":          func() { v.Dropout(y, dy, 1, 2, 1<<51, 1.25) },
				"softcap":          func() { v.Softcap(slices.Clone(x), z, 50) },
				"softcap, small":   func() { v.Softcap(slices.Clone(dy), z, 1e6) },
				"sumSquares":       func() { v.SumSquares(dy) },
			} {
				noDenormals(t, name, f)
			}
		}
	})
}

// TestSoftmaxMakesNoDenormals uses scores that fall along a row as ALiBi's do, through every size of a weight, some of
// them hidden.
func TestSoftmaxMakesNoDenormals(t *testing.T) {
	const rows, cols = 7, 523
	hidden := float32(math.Inf(-1))
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		scores, mask := make([]float32, rows*cols), make([]float32, rows*cols)
		for i := range scores {
			scores[i] = -float32(i%cols) * 0.37 * float32(1+i/cols)
			if i%5 == 0 || i%cols > 400+i/cols {
				mask[i] = hidden
			}
		}
		for _, reversed := range []bool{false, true} {
			if reversed {
				slices.Reverse(scores)
			}
			top, total := make([]float32, rows), make([]float32, rows)
			keep, dots := make([]float32, rows), make([]float32, rows)
			for i := range top {
				top[i] = -math.MaxFloat32
			}
			x, d := slices.Clone(scores), make([]float32, rows*cols)
			for i := range d {
				d[i] = 1e-6 * float32(1+i%7)
			}
			noDenormals(t, "sigmoidTile", func() { v.SigmoidTile(slices.Clone(scores), mask, dots, cols, cols) })
			noDenormals(t, "sigmoidTileBackward", func() {
				v.SigmoidTileBackward(slices.Clone(d), slices.Clone(scores), mask, dots, cols, cols)
			})
			noDenormals(t, "softmax", func() { v.Softmax(slices.Clone(scores), mask, cols, rows) })
			noDenormals(t, "softmaxTile", func() { v.SoftmaxTile(x, mask, top, total, keep, cols, cols) })
			for i, p := range x {
				if mask[i] == hidden && math.Float32bits(p) != 0 {
					t.Fatalf("softmaxTile, entry %d: got %v for a hidden key, want 0", i, p)
				}
			}
			noDenormals(t, "scaleRows", func() { v.ScaleRows(slices.Clone(d), keep, cols, cols) })
			noDenormals(t, "dotRows", func() { v.DotRows(dots, x, d, cols, cols) })
			copy(x, scores)
			noDenormals(
				t, "softmaxTileBackward", func() { v.SoftmaxTileBackward(d, x, mask, top, total, dots, cols, cols) },
			)
			noDenormals(
				t, "a later tile", func() { v.SoftmaxTile(slices.Clone(scores), nil, top, total, keep, cols, 0) },
			)
		}
	})
}

// TestAttentionMakesNoDenormals runs forward and backward with such scores, including the products.
func TestAttentionMakesNoDenormals(t *testing.T) {
	for _, weights := range []attention.Weights{attention.Softmax, attention.Sigmoids} {
		attentionMakesNoDenormals(t, attention.Shape{
			Batch: 1, Queries: 300, Keys: 300, Heads: 2, QK: 24, V: 24, Groups: 2, Weights: weights,
		})
	}
}

func attentionMakesNoDenormals(t *testing.T, h attention.Shape) {
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		p := kernel.NewPool(1) // only this thread
		rng := rand.New(rand.NewPCG(2, 3))
		qkv := kerneltest.Random[float32](rng, h.Queries*h.Width())
		dy := kerneltest.Random[float32](rng, h.Queries*h.Heads*h.V)
		for i := range dy {
			dy[i] *= 1e-6
		}
		mask := attention.Mask[float32]{Data: make([]float32, h.Queries*h.Keys), Batch: 1, Heads: 1}
		for i := range mask.Data {
			q, k := i/h.Keys, i%h.Keys
			if mask.Data[i] = -0.5 * float32(q-k); k > q || k%11 == 5 {
				mask.Data[i] = float32(math.Inf(-1))
			}
		}
		for _, products := range []gemm.Products[float32]{gemm.Exact[float32]{}, gemm.Rounded{}} {
			f := attention.Flash[float32]{Shape: h, Products: products, Spans: new(attention.Spans),
				In:   attention.Packed(h, qkv),
				Mask: mask, LSE: make([]float32, 2*h.Heads*h.Queries), Scratch: make(
					[]float32, attention.FlashScratch(p, h),
				)}
			y, grads := make([]float32, len(dy)), make([]float32, len(qkv))
			noDenormals(t, "forward", func() { f.Forward(p, y) })
			noDenormals(t, "backward", func() { f.Backward(p, attention.Packed(h, grads), y, dy) })
			for i, g := range append(grads, y...) {
				if a := math.Abs(float64(g)); a > 0 && a < 0x1p-126 {
					t.Fatalf("entry %d: got %v", i, g)
				}
			}
		}
	})
}

// TestProductsMakeNoDenormals uses weights and gradients as at the end of training.
func TestProductsMakeNoDenormals(t *testing.T) {
	const m, n, k = 37, 45, 67
	rng := rand.New(rand.NewPCG(4, 5))
	a, b, c := kerneltest.Random[float32](rng, m*k), kerneltest.Random[float32](rng, n*k), make([]float32, m*n)
	for i := range a {
		a[i] *= 1e-12
	}
	noDenormals(
		t, "product", func() { gemm.MulSerial(m, n, k, 0.125, gemm.Mat(a, k), gemm.Mat(b, n), 0, gemm.Mat(c, n)) },
	)
	noDenormals(
		t, "transposed",
		func() { gemm.MulSerial(m, n, k, 1, gemm.Mat(a, m).T(), gemm.Mat(b, k).T(), 1, gemm.Mat(c, n)) },
	)
}

// TestAdamWMakesNoDenormals: the moments of weights with a single gradient, or tiny ones, fall to 0 and stay there.
func TestAdamWMakesNoDenormals(t *testing.T) {
	const n, steps = 1003, 3000
	rng := rand.New(rand.NewPCG(6, 7))
	first := kerneltest.Random[float32](rng, n)
	kerneltest.EachSet(t, func(t *testing.T, _ *simd.Set) {
		w, dw := kerneltest.Random[float32](rand.New(rand.NewPCG(8, 9)), n), slices.Clone(first)
		m, v := make([]float32, n), make([]float32, n)
		met, produced := 0, 0
		for step := 1; step <= steps; step++ {
			a, b := kerneltest.Denormals(func() {
				kernel.Update(
					kernel.AdamW{LR: 1e-3, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Decay: 0.1}, step, 0.5, w, dw, m, v,
				)
			})
			if a {
				met++
			}
			if b {
				produced++
			}
			for i := range dw { // the others have no gradient, or a tiny one
				if dw[i] *= 0.5; i%2 == 0 || math.Abs(float64(dw[i])) < 1e-30 {
					dw[i] = 0
				}
			}
		}
		if met != 0 || produced != 0 {
			t.Errorf(
				"of %d steps, %d met and %d produced numbers below the normal ones, want none", steps, met, produced,
			)
		}
		for i := range m {
			if m[i] != 0 || v[i] != 0 {
				t.Fatalf("weight %d: moments %v and %v after %d steps without a gradient, want 0", i, m[i], v[i], steps)
			}
		}
	})
}
