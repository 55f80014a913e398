package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// rounded returns x to 8 significant bits.
func rounded(x float64) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(fraction, 8)), exponent-8)
}

// TestFlashRounds: with products of rounded operands, exactly the six products q·kᵀ, p·v, dy·vᵀ, pᵀ·dy, dsᵀ·q and ds·k
// are rounded: the difference to float64 with the same roundings is as small as float32's.
func TestFlashRounds(t *testing.T) {
	h := self(2, 29, 3, 7, 5)
	rng := rand.New(rand.NewPCG(3, 9))
	p, mask := kernel.NewPool(2), kerneltest.Rounded[float32](causal.mask(h).Data)
	qkv, dqkv := kerneltest.Random[float32](rng, h.numbers()), make([]float32, h.numbers())
	y := make([]float32, h.Batch*h.Queries*h.Heads*h.V)
	dy := kerneltest.Random[float32](rng, h.Batch*h.Queries*h.Heads*h.V)
	f := &Flash[float32]{
		h, gemm.Rounded{}, &Spans{}, Packed(h, qkv), Mask[float32]{mask, 1, 1, nil},
		make([]float32, 2*h.Batch*h.Heads*h.Queries), make([]float32, FlashScratch(p, h)), kernel.DropMask{}, nil, nil,
		nil,
	}
	f.Forward(p, y)
	f.Backward(p, Packed(h, dqkv), y, dy)
	wantY, wantD := make([]float64, len(y)), make([]float64, len(dqkv))
	for b := range h.Batch {
		for j := range h.Heads {
			roundedHead(h, b, j, qkv, dy, wantY, wantD)
		}
	}
	for name, c := range map[string]struct {
		got  []float32
		want []float64
	}{"y": {y, wantY}, "dqkv": {dqkv, wantD}} {
		var off, size float64
		for i, want := range c.want {
			off, size = math.Hypot(off, float64(c.got[i])-want), math.Hypot(size, want)
		}
		if !(off <= 2e-5*size) { // a number between two of bfloat16 may go to the other
			t.Errorf("%s is off by %g", name, off/size)
		}
	}
}

// roundedHead computes a causal head of width tokens and its gradients in float64.
func roundedHead(h Shape, b, j int, qkv, dy []float32, y, dqkv []float64) {
	n, width, scale := h.Queries, h.Width(), 1/math.Sqrt(float64(h.QK))
	q := func(i, f int) int { return (b*n+i)*width + j*h.QK + f }
	k := func(i, f int) int { return q(i, f) + h.Heads*h.QK }
	v := func(i, f int) int { return (b*n+i)*width + 2*h.Heads*h.QK + j*h.V + f }
	of := func(i, f int) int { return ((b*n+i)*h.Heads+j)*h.V + f }
	in := func(at int) float64 { return rounded(float64(qkv[at])) }
	for i := range n {
		weights, total := make([]float64, i+1), 0.
		for key := range weights {
			for f := range h.QK {
				weights[key] += scale * in(q(i, f)) * in(k(key, f))
			}
			weights[key] = math.Exp(weights[key])
			total += weights[key]
		}
		var dot float64
		for f := range h.V {
			for key := range weights {
				y[of(i, f)] += rounded(weights[key]/total) * in(v(key, f))
			}
			dot += y[of(i, f)] * float64(dy[of(i, f)])
		}
		for key := range weights {
			weight, dp := weights[key]/total, 0.
			for f := range h.V {
				up := rounded(float64(dy[of(i, f)]))
				dp += up * in(v(key, f))
				dqkv[v(key, f)] += rounded(weight) * up
			}
			ds := rounded(weight * (dp - dot))
			for f := range h.QK {
				dqkv[q(i, f)] += scale * ds * in(k(key, f))
				dqkv[k(key, f)] += scale * ds * in(q(i, f))
			}
		}
	}
}

// TestFlashRoundsScattered: with rounded operands, lanes and scattered keys give the same as exact operands up to the
// rounding.
func TestFlashRoundsScattered(t *testing.T) {
	masks := []masking{sparse[0], sparse[2], gapped[0].masking}
	for _, m := range masks {
		h := self(1, 437, 4, 24, 40)
		rng, p := rand.New(rand.NewPCG(3, 9)), kernel.NewPool(2)
		mask := m.mask(h)
		qkv, dy := kerneltest.Random[float32](rng, h.numbers()), kerneltest.Random[float32](rng, h.Queries*h.Heads*h.V)
		var ys, grads [2][]float32
		for i, products := range []gemm.Products[float32]{gemm.Exact[float32]{}, gemm.Rounded{}} {
			y, dqkv := make([]float32, len(dy)), make([]float32, len(qkv))
			f := &Flash[float32]{
				h, products, &Spans{}, Packed(h, qkv),
				Mask[float32]{kerneltest.Rounded[float32](mask.Data), mask.Batch, mask.Heads, nil},
				make([]float32, 2*h.Heads*h.Queries), make([]float32, FlashScratch(p, h)), kernel.DropMask{}, nil, nil,
				nil,
			}
			f.Forward(p, y)
			f.Backward(p, Packed(h, dqkv), y, dy)
			ys[i], grads[i] = y, dqkv
		}
		for name, pair := range map[string][2][]float32{"y": ys, "dqkv": grads} {
			var off, size float64
			for i, exact := range pair[0] {
				off, size = math.Hypot(off, float64(pair[1][i]-exact)), math.Hypot(size, float64(exact))
			}
			if !(off > 1e-4*size && off <= 1e-2*size) {
				t.Errorf("%s: %s is off by %g, want between 1e-4 and 1e-2", m.name, name, off/size)
			}
		}
	}
}
