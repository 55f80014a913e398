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

// A sink is a key of zeros, with the value 0, to whose score the mask adds its logit. The gradient of the logit is the
// slope of the result.
func TestSinksAreKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 9))
	for i, m := range maskings {
		if os.Getenv("NIGHTLY") == "" && i%3 > 0 {
			continue
		}
		for _, h := range []Shape{self(2, 67, 3, 5, 4), self(2, 5, 6, 3, 4).in(2), self(1, 263, 2, 4, 8).capped()} {
			more, n := h, h.Keys
			if n > 256 && i%2 > 0 {
				continue // causal, window, padding, bias, blind queries and a bias per head have two tiles of keys
			}
			more.Keys++
			mask := m.mask(h)
			wide := Mask[float64]{Data: make([]float64, h.Batch*h.Heads*n*(n+1)), Batch: h.Batch, Heads: h.Heads}
			qkv := kerneltest.Random[float64](rng, h.numbers())
			dy := kerneltest.Random[float64](rng, h.Batch*n*h.Heads*h.V)
			sinks := kerneltest.Random[float64](rng, h.Heads)
			x := make([]float64, more.numbers())
			spread := func(to, from []float64) {
				a, b := partsOf(more, to), partsOf(h, from)
				for i := range h.Batch * n {
					j := i/n*(n+1) + i%n
					copy(a.Q.Data[i*a.Q.Stride:][:h.Heads*h.QK], b.Q.Data[i*b.Q.Stride:])
					copy(a.K.Data[j*a.K.Stride:][:h.Groups*h.QK], b.K.Data[i*b.K.Stride:])
					copy(a.V.Data[j*a.V.Stride:][:h.Groups*h.V], b.V.Data[i*b.V.Stride:])
				}
			}
			spread(x, qkv)
			dense := func(dy []float64) (y, dx []float64) {
				for i := range wide.Data {
					which, query, key := i/(n*(n+1)), i/(n+1)%n, i%(n+1)
					if wide.Data[i] = sinks[which%h.Heads]; key < n {
						wide.Data[i] = mask.Data[(mask.index(which/h.Heads, which%h.Heads)*n+query)*n+key]
					}
				}
				return denseAttention(more, x, wide, dy, kernel.DropMask{})
			}
			want, dx := dense(dy)
			for i := range h.Batch { // the gradients of the sinks' keys and values
				d := partsOf(more, dx)
				clear(d.K.Data[(i*(n+1)+n)*d.K.Stride:][:h.Groups*(h.QK+h.V)])
			}
			slopes := make([]float64, h.Heads)
			for j := range sinks {
				at := sinks[j]
				sinks[j] = at + 1e-4
				slopes[j] = along(dense, dy) / 2e-4
				sinks[j] = at - 1e-4
				slopes[j] -= along(dense, dy) / 2e-4
				sinks[j] = at
			}
			for _, threads := range []int{1, 3} {
				p := kernel.NewPool(threads)
				y, dqkv, db := make([]float64, len(dy)), make([]float64, len(qkv)), make([]float64, h.Heads)
				f := &Flash[float64]{
					h, gemm.Exact[float64]{}, &Spans{}, Packed(h, qkv), mask, make([]float64, 2*h.Batch*h.Heads*n),
					make([]float64, FlashScratch(p, h)), kernel.DropMask{}, sinks, nil, nil,
				}
				f.Forward(p, y)
				f.Backward(p, Packed(h, dqkv), y, dy)
				f.SinkGradients(p, db, y, dy)
				compareTo(t, m.name, y, want, 1e-12)
				got := make([]float64, len(dx))
				spread(got, dqkv)
				compareTo(t, m.name, got, dx, 1e-12)
				compareTo(t, fmt.Sprintf("%s, %+v, sinks", m.name, h), db, slopes, 1e-7)
			}
		}
	}
}

// along returns the product of a result and dy.
func along(f func(dy []float64) (y, dx []float64), dy []float64) (sum float64) {
	y, _ := f(nil)
	for i, v := range y {
		sum += v * dy[i]
	}
	return sum
}

// A query with a sink far above its scores takes nothing; one far below changes nothing.
func TestSinksAtTheEnds(t *testing.T) {
	h := self(1, 9, 2, 3, 4)
	rng, p := rand.New(rand.NewPCG(4, 9)), kernel.NewPool(1)
	qkv, dy := kerneltest.Random[float32](rng, h.numbers()), kerneltest.Random[float32](rng, 9*8)
	mask := Mask[float32]{kerneltest.Rounded[float32](causal.mask(h).Data), 1, 1, nil}
	run := func(sinks []float32) (y, db []float32) {
		y, db = make([]float32, len(dy)), make([]float32, 2)
		f := &Flash[float32]{
			h, gemm.Exact[float32]{}, &Spans{}, Packed(h, qkv), mask, make([]float32, 2*2*9),
			make([]float32, FlashScratch(p, h)), kernel.DropMask{}, sinks, nil, nil,
		}
		f.Forward(p, y)
		if sinks != nil {
			f.SinkGradients(p, db, y, dy)
		}
		return y, db
	}
	plain, _ := run(nil)
	y, db := run([]float32{-200, 200})
	for i, v := range y {
		if want := plain[i]; i%8 < 4 && v != want || i%8 >= 4 && v != 0 {
			t.Errorf("entry %d: got %v, without sinks %v", i, v, want)
		}
	}
	if math.Abs(float64(db[0])) > 1e-30 || db[1] != 0 {
		t.Errorf("gradients of sinks at the ends %v, want 0", db)
	}
}
