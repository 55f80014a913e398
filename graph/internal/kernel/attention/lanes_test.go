package attention

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// apart reports whether query i sees key j in a window of the given number of keys that are step apart.
func apart(i, j, step, keys int) bool { return (i-j)%step == 0 && max(i-j, j-i) < keys*step }

// gapped holds masks with lanes, and the distances of queries and keys in the first and the last head.
var gapped = []struct {
	masking
	keys, first, last int
}{
	{masking{"dilated", false, false, func(_, _, _, i, j int) float64 {
		return hideIf(j > i ||
			!apart(i, j, 3, 9))
	}}, 1, 3, 3},
	{masking{"by head", false, true, func(_, _, head, i, j int) float64 {
		return hideIf(j > i || j >= 2 && !apart(i, j, 1+3*head, 12))
	}}, 1, 1, 4},
	{masking{"both sides, bias, of every sequence", true, false, func(n, b, _, i, j int) float64 {
		return hideIf(j != 4 && !apart(i, j, 5, 6) || j > n-9*b) - 0.01*float64(i)*float64(j%7)
	}}, 1, 5, 5},
	{masking{"pairs", false, false, func(n, _, _, i, j int) float64 {
		return hideIf(j/2 > i || (j/2 < 3) != (j%2 == 1) || j >= 6 && !apart(i, j/2, 1, 20))
	}}, 2, 1, 1},
	{masking{"dilated pairs", false, true, func(n, _, head, i, j int) float64 {
		global := j/2 < 3 || i == 1
		return hideIf(global != (j%2 == 1) || !global && !apart(i, j/2, 2+head, 7))
	}}, 2, 2, 3},
}

// Queries and keys in lanes give the same as the complete mask, forward and backward, with dropout, bias, far keys and
// shared heads, to the bit on any number of threads.
func TestLanesEqualDense(t *testing.T) {
	for i, m := range gapped {
		for _, n := range []int{303, 230} {
			if os.Getenv("NIGHTLY") == "" && n%2 != i%2 {
				continue
			}
			h := shape(2, n, m.keys*n, 2, 5, 7, 2)
			if !m.perHead && n == 303 {
				h = h.in(1)
			}
			h.Cap = 1.5 * float64((n+i)%2)
			t.Run(fmt.Sprintf("%s, %+v", m.name, h), func(t *testing.T) {
				rng, mask := rand.New(rand.NewPCG(1, 2)), m.mask(h)
				drop := kernel.DropMask{P: 0.3 * float64(i%2), Key: 7}
				var s Spans
				readMask(kernel.NewPool(2), h, &s, mask)
				first, last := s.lanes[0], s.lanes[len(s.lanes)-1]
				if len(first) != m.keys*m.first || len(last) != m.keys*m.last {
					t.Errorf(
						"got %d and %d lanes, want %d and %d", len(first), len(last), m.keys*m.first, m.keys*m.last,
					)
				}
				x := kerneltest.Random[float64](rng, h.numbers())
				dy := kerneltest.Random[float64](rng, h.Batch*n*h.Heads*h.V)
				checkAttention(t, h, x, mask, dy, drop, 1e-12, 1e-4)
				checkAttention(t, h.sigmoids(), x, mask, dy, drop, 1e-12, 1e-4)
				y, dx := runAttention[float32](kernel.NewPool(1), h, x, mask, dy, drop)
				again, back := runAttention[float32](kernel.NewPool(7), h, x, mask, dy, drop)
				if !kerneltest.SameBits(y, again) || !kerneltest.SameBits(dx, back) {
					t.Error("7 threads give other bits than one")
				}
			})
		}
	}
}

// Masks that gain nothing from lanes have a single one: masks without gaps, with few gaps, and short masks.
func TestLanesOfOtherMasks(t *testing.T) {
	for _, n := range []int{40, 300} {
		h := self(2, n, 3, 1, 1)
		for _, m := range maskings {
			var s Spans
			readMask(kernel.NewPool(1), h, &s, m.mask(h))
			for _, lanes := range s.lanes {
				if len(lanes) != 1 {
					t.Errorf("%s, %d tokens: got %d lanes, want 1", m.name, n, len(lanes))
				}
			}
		}
	}
}

// At 2048 tokens a dilated window costs as many scores as one without gaps and the same number of keys, up to the edges
// of tiles.
func TestDilatedWindowIsAsDear(t *testing.T) {
	h := self(1, 2048, 1, 1, 1)
	var plain Spans
	readMask(kernel.NewPool(1), h, &plain, dilatedWindow(h, 1))
	f, b := plain.entries(h)
	for _, step := range []int{2, 4, 8} {
		var s Spans
		readMask(kernel.NewPool(1), h, &s, dilatedWindow(h, step))
		if gotF, gotB := s.entries(h); !(float64(gotF) <= 1.05*float64(f)) || !(float64(gotB) <= 1.05*float64(b)) {
			t.Errorf("%d apart: got %d and %d scores, side by side %d and %d", step, gotF, gotB, f, b)
		}
	}
}

// dilatedWindow returns a mask of a window of 64 keys that are step apart.
func dilatedWindow(h Shape, step int) Mask[float64] {
	return masking{at: func(_, _, _, i, j int) float64 { return hideIf(j > i || !apart(i, j, step, 64)) }}.mask(h)
}

// BenchmarkDilated measures a window of 64 keys at 2048 tokens, with adjacent and distant keys.
func BenchmarkDilated(b *testing.B) {
	for _, step := range []int{1, 2, 4} {
		h, p, rng := self(1, 2048, 4, 64, 64), kernel.NewPool(1), rand.New(rand.NewPCG(1, 2))
		mask := Mask[float32]{kerneltest.Rounded[float32](dilatedWindow(h, step).Data), 1, 1, nil}
		qkv, dqkv := kerneltest.Random[float32](rng, h.numbers()), make([]float32, h.numbers())
		y, dy := make([]float32, h.Queries*h.Heads*h.V), kerneltest.Random[float32](rng, h.Queries*h.Heads*h.V)
		f := &Flash[float32]{
			h, gemm.Exact[float32]{}, &Spans{Run: 1}, Packed(h, qkv), mask, make([]float32, 2*h.Queries*h.Heads),
			make([]float32, FlashScratch(p, h)), kernel.DropMask{}, nil, nil, nil,
		}
		for pass, run := range map[string]func(){
			"mask":     func() { f.Spans.Run++; readMask(p, h, f.Spans, f.Mask) },
			"forward":  func() { f.Forward(p, y) }, // the mask was read by another layer
			"backward": func() { f.Backward(p, Packed(h, dqkv), y, dy) },
		} {
			b.Run(fmt.Sprintf("%s/%d apart", pass, step), func(b *testing.B) {
				f.Forward(p, y)
				for b.Loop() {
					run()
				}
			})
		}
	}
}
