package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// Running sums c are a mask c_i − c_j. The gradient of the gates is the slope of the result, on any number of threads.
func TestForgettingIsABias(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	hidden := math.Inf(-1)
	dilated := masking{"dilated", false, false, func(n, b, head, i, j int) float64 {
		return hideIf(j > i ||
			(i-j)%4 != 0 || i-j > 80)
	}}
	global := masking{"global", false, false, func(n, b, head, i, j int) float64 {
		return hideIf(j > i || i-j > 9 &&
			j > 1)
	}}
	tried := []masking{causal, global, dilated, maskings[2], maskings[5]}
	if os.Getenv("NIGHTLY") == "" {
		tried = tried[:2]
	}
	for _, m := range tried {
		for _, h := range []Shape{self(2, 67, 2, 5, 4), self(1, 263, 4, 3, 4).in(2), self(1, 270, 1, 4, 8).capped()} {
			n, mask := h.Keys, m.mask(h)
			wide := Mask[float64]{Data: make([]float64, h.Batch*h.Heads*n*n), Batch: h.Batch, Heads: h.Heads}
			qkv := kerneltest.Random[float64](rng, h.numbers())
			dy := kerneltest.Random[float64](rng, h.Batch*n*h.Heads*h.V)
			gates := make([]float64, h.Batch*n*h.Heads) // ln f
			for i := range gates {
				gates[i] = -rng.ExpFloat64() / 4
			}
			drop := kernel.DropMask{P: 0.3, Key: 5, Step: 2}
			dense := func(dy []float64) (y, dx []float64) {
				sums := make([]float64, len(gates)) // of the gates so far
				for i, g := range gates {
					if sums[i] = g; i/h.Heads%n > 0 {
						sums[i] += sums[i-h.Heads]
					}
				}
				for i := range wide.Data {
					b, j, query, key := i/(n*n)/h.Heads, i/(n*n)%h.Heads, i/n%n, i%n
					if wide.Data[i] = mask.Data[(mask.index(b, j)*n+query)*n+key]; wide.Data[i] == hidden {
						continue
					}
					if query > key {
						wide.Data[i] += sums[(b*n+query)*h.Heads+j] - sums[(b*n+key)*h.Heads+j]
					}
				}
				return denseAttention(h, qkv, wide, dy, drop)
			}
			want, dx := dense(dy)
			slopes := map[int]float64{}
			for range 4 {
				i := rng.IntN(len(gates))
				at := gates[i]
				gates[i] = at + 1e-4
				slopes[i] = along(dense, dy) / 2e-4
				gates[i] = at - 1e-4
				slopes[i] -= along(dense, dy) / 2e-4
				gates[i] = at
			}
			var first []float64
			for _, threads := range []int{1, 3, 16} { // 16: the blocks of keys take turns
				y, dqkv, dgates := forgetting(kernel.NewPool(threads), h, qkv, gates, mask, dy, drop)
				name := fmt.Sprintf("%s, %+v, %d threads", m.name, h, threads)
				compareTo(t, name, y, want, 1e-12)
				compareTo(t, name, dqkv, dx, 1e-12)
				top := 0.0
				for _, v := range dgates {
					top = max(top, math.Abs(v))
				}
				for i, want := range slopes {
					if got := dgates[i]; !(math.Abs(got-want) <= 1e-7*top) {
						t.Errorf("%s, gate %d: got %v, want %v", name, i, got, want)
					}
				}
				if first = append(first, dgates...); !kerneltest.SameBits(first[:len(dgates)], dgates) {
					t.Errorf("%s: other bits", name)
				}
				y32, dqkv32, dgates32 := forgetting(kernel.NewPool(threads), h, kerneltest.Rounded[float32](qkv),
					kerneltest.Rounded[float32](gates),
					Mask[float32]{kerneltest.Rounded[float32](mask.Data), mask.Batch, mask.Heads, nil},
					kerneltest.Rounded[float32](dy), drop)
				compareTo(t, name, y32, want, 1e-4)
				compareTo(t, name, dqkv32, dx, 1e-4)
				compareTo(t, name, dgates32, dgates, 1e-4)
			}
		}
	}
}

// forgetting runs both passes and returns the result, the gradient of the projections and the gradient of the gates.
func forgetting[T kernel.Float](
	p *kernel.Pool, h Shape, qkv, gates []T, mask Mask[T], dy []T, drop kernel.DropMask,
) (y, dqkv, dgates []T) {
	y, dqkv, dgates = make([]T, len(dy)), make([]T, len(qkv)), make([]T, len(gates))
	f := &Flash[T]{
		Shape: h, Products: gemm.Exact[T]{}, Spans: &Spans{}, In: Packed(h, qkv), Mask: mask,
		LSE: make([]T, 2*len(gates)), Scratch: make([]T, FlashScratch(p, h)), Drop: drop,
		Decay: make([]T, len(gates)), DecayGrad: make([]T, len(gates)),
	}
	Cumulate(p, h, f.Decay, gates)
	f.Forward(p, y)
	f.Backward(p, Packed(h, dqkv), y, dy)
	CumulateBackward(p, h, dgates, f.DecayGrad)
	return y, dqkv, dgates
}
