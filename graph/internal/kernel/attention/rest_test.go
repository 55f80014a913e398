package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// random reports whether a key was drawn for a query, about one in n.
func random(i, j, n int) bool {
	return rand.New(rand.NewPCG(uint64(i), uint64(j))).IntN(n) == 0
}

// sparse holds masks of windows with additional keys far away.
var sparse = []masking{
	{"bigbird", false, false, func(_, _, _, i, j int) float64 {
		return hideIf(j > i || i-j >= 9 && j >= 2 &&
			!random(i, j, 150))
	}},
	{"both sides, of every sequence", true, false, func(n, b, _, i, j int) float64 {
		return hideIf((i-j >= 9 || j-i >= 9) && j >= 2 && i != 5 && !random(i+b, j, 150) || j >= n-11*b)
	}},
	{"heads and bias", false, true, func(_, _, head, i, j int) float64 {
		return hideIf(j > i || i-j >= 9+head && j != 7*head) - 0.01*float64(i-j)
	}},
	{"dilated", false, true, func(_, _, head, i, j int) float64 {
		return hideIf(j > i || j >= 3 && (i-j > 6*(1+head) || (i-j)%(1+head) > 0))
	}},
	{"only scattered", false, false, func(_, _, _, i, j int) float64 {
		return hideIf(j > i || j > 0 &&
			!random(i, j, 100))
	}},
	{"blind", false, false, func(_, _, _, i, j int) float64 {
		return hideIf(j > i || i%90 < 70 && i > 200 || i-j > 3 &&
			j > 0)
	}},
}

// Keys far from the window are gathered, and the result is the complete mask's, forward and backward, for groups, with
// dropout, to the bit on any number of threads.
func TestScatteredKeysEqualDense(t *testing.T) {
	shapes := []Shape{self(2, 437, 2, 5, 7), self(1, 391, 4, 3, 2).in(2), shape(2, 333, 666, 2, 4, 3, 2)}
	if os.Getenv("NIGHTLY") == "" {
		shapes = shapes[1:]
	}
	for k, h := range shapes {
		for i, m := range sparse {
			if os.Getenv("NIGHTLY") == "" && (i+k)%2 > 0 {
				continue
			}
			h.Cap = 1.5 * float64((i+k)%2)
			drop := kernel.DropMask{P: 0.3 * float64(i%2), Key: 7}
			t.Run(fmt.Sprintf("%s, %+v", m.name, h), func(t *testing.T) {
				rng, mask := rand.New(rand.NewPCG(1, 2)), m.mask(h)
				x := kerneltest.Random[float64](rng, h.numbers())
				dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
				var s Spans
				if readMask(kernel.NewPool(2), h, &s, mask); !s.scattered {
					t.Error("no key is gathered")
				}
				checkAttention(t, h, x, mask, dy, drop, 1e-12, 1e-4)
				y, dx := runAttention[float32](kernel.NewPool(1), h, x, mask, dy, drop)
				again, back := runAttention[float32](kernel.NewPool(3), h, x, mask, dy, drop)
				if !kerneltest.SameBits(y, again) || !kerneltest.SameBits(dx, back) {
					t.Error("3 threads give other bits than one")
				}
			})
		}
	}
}

// entries returns the number of scores that either pass computes for one mask.
func (s *Spans) entries(h Shape) (forward, backward int) {
	for _, l := range s.lanes[0] {
		h := h.within(&l)
		for from := 0; from < h.Queries; from += h.Rows() {
			to := min(h.Queries, from+h.Rows())
			tile := around(l.queries[from:to])
			forward += (to - from) * (tile.to - tile.from)
		}
		for block, q := range l.keys {
			backward += (q.to - q.from) * min(backwardKeys, h.Keys-block*backwardKeys)
		}
		for i := range l.forward {
			forward += restRows * len(l.forward[i])
			backward += restRows * len(l.backward[i])
		}
	}
	return forward, backward
}

// windowAndBird returns masks of a window of 64, without and with 4 global and 3 random keys.
func windowAndBird(h Shape) (window, bird Mask[float64]) {
	window = masking{at: func(_, _, _, i, j int) float64 { return hideIf(j > i || i-j >= 64) }}.mask(h)
	bird = masking{at: func(_, _, _, i, j int) float64 { return hideIf(j > i || i-j >= 64 && j >= 4) }}.mask(h)
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range h.Queries {
		for range 3 {
			bird.Data[i*h.Keys+rng.IntN(i+1)] = 0
		}
	}
	return window, bird
}

// At 2048 tokens a window of 64 with 4 global and 3 random keys has little more than one and a half times the scores
// of the window alone, not eight times as many.
func TestScatteredKeysAreFew(t *testing.T) {
	h := self(1, 2048, 1, 1, 1)
	window, bird := windowAndBird(h)
	var plain, sparse Spans
	readMask(kernel.NewPool(1), h, &plain, window)
	readMask(kernel.NewPool(1), h, &sparse, bird)
	f, b := plain.entries(h)
	gotF, gotB := sparse.entries(h)
	if plain.scattered || !(float64(gotF) <= 1.45*float64(f)) || !(float64(gotB) <= 1.6*float64(b)) {
		t.Errorf("%d and %d scores, of the window alone %d and %d", gotF, gotB, f, b)
	}
}

func TestCore(t *testing.T) {
	no := math.Inf(-1)
	hidden := func(n int) []float64 { return slices.Repeat([]float64{no}, n) }
	seen := func(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }
	for name, c := range map[string]struct {
		row     []float64
		want    span
		outside []int32
	}{
		"a far key": {slices.Concat(seen(1, 0), hidden(60), seen(5, 0)), span{61, 66, true}, []int32{0}},
		"a bias":    {slices.Concat(seen(1, 0), hidden(60), seen(4, -1), hidden(3)), span{61, 65, false}, []int32{0}},
		"keys on both sides": {
			slices.Concat(seen(1, 2), hidden(60), seen(3, 0), hidden(70), seen(2, 0)), span{61, 64, true},
			[]int32{0, 134, 135},
		},
		"holes in the window": {
			slices.Concat(seen(1, 0), hidden(60), seen(2, 0), hidden(15), seen(1, 0)), span{61, 79, false}, []int32{0},
		},
		"a gap": {
			slices.Concat(seen(1, 0), hidden(80), seen(2, 0), hidden(16), seen(1, 0)), span{81, 83, true},
			[]int32{0, 99},
		},
		"near enough":            {slices.Concat(seen(1, 0), hidden(30), seen(5, 0)), span{0, 36, false}, nil},
		"too many":               {slices.Concat(seen(9, 0), hidden(60), seen(10, 0)), span{0, 79, false}, nil},
		"no gap":                 {slices.Concat(seen(100, 0), hidden(3), seen(1, 0)), span{0, 104, false}, nil},
		"as many, the first one": {slices.Concat(seen(1, 0), hidden(90), seen(1, 0)), span{0, 1, true}, []int32{91}},
	} {
		all := span{0, len(c.row), false}
		for c.row[all.to-1] == no {
			all.to--
		}
		if got, outside := core(c.row, all, nil); got != c.want || !slices.Equal(outside, c.outside) {
			t.Errorf("%s: got %v and %v, want %v and %v", name, got, outside, c.want, c.outside)
		}
	}
}

// BenchmarkSparse measures a window of 64 at 2048 tokens, without and with global and random keys.
func BenchmarkSparse(b *testing.B) {
	h := self(1, 2048, 4, 64, 64)
	window, bird := windowAndBird(h)
	for _, threads := range []int{1, 2} {
		p, rng := kernel.NewPool(threads), rand.New(rand.NewPCG(1, 2))
		qkv, dqkv := kerneltest.Random[float32](rng, h.numbers()), make([]float32, h.numbers())
		y, dy := make([]float32, h.Queries*h.Heads*h.V), kerneltest.Random[float32](rng, h.Queries*h.Heads*h.V)
		lse, scratch := make([]float32, 2*h.Queries*h.Heads), make([]float32, FlashScratch(p, h))
		for name, mask := range map[string]Mask[float64]{"window": window, "bigbird": bird} {
			f := &Flash[float32]{
				h, gemm.Exact[float32]{}, &Spans{}, Packed(h, qkv),
				Mask[float32]{kerneltest.Rounded[float32](mask.Data), 1, 1, nil}, lse, scratch, kernel.DropMask{}, nil,
				nil, nil,
			}
			for pass, run := range map[string]func(){
				"mask":     func() { readMask(p, h, f.Spans, f.Mask) },
				"forward":  func() { f.Forward(p, y) },
				"backward": func() { f.Backward(p, Packed(h, dqkv), y, dy) },
			} {
				b.Run(fmt.Sprintf("%s/threads=%d/%s", pass, threads, name), func(b *testing.B) {
					f.Forward(p, y)
					b.ReportAllocs()
					for b.Loop() {
						run()
					}
				})
			}
		}
	}
}
