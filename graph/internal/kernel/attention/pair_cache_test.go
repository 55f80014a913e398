package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// Tokens come in several calls: every query of either kind is combined with the visible keys of its own kind, under one
// softmax; a copy of another sequence continues like that one.
func TestPairCache(t *testing.T) {
	for _, h := range []Shape{self(2, 5, 3, 4, 2), self(3, 4, 1, 2, 5).capped(), self(2, 40, 3, 64, 48)} {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%+v/%d", h, threads), func(t *testing.T) { pairCache(t, h, kernel.NewPool(threads)) })
		}
	}
}

func pairCache(t *testing.T, h Shape, p *kernel.Pool) {
	n, width := h.Keys, 2*h.Width()
	rng := rand.New(rand.NewPCG(1, 7))
	tokens := kerneltest.Random[float64](rng, h.Batch*n*width)
	mask := Mask[float64]{Data: kerneltest.Random[float64](rng, h.Heads*n*2*n), Batch: 1, Heads: h.Heads}
	for i := range mask.Data { // causal; each head hides one more distance, and every third of the other keys
		head, query, key, kind := i/(2*n*n), i/(2*n)%n, i/2%n, i%2
		if key > query || query-key == head+1 || key+kind > 0 && (key+kind)%3 == 0 {
			mask.Data[i] = math.Inf(-1)
		}
	}
	part := func(b, i, kind, from, size int) []float64 { return tokens[(b*n+i)*width+kind*h.Width()+from:][:size] }
	want := func(b, i int) (row []float64) {
		for j := range h.Heads {
			sum, out := 0.0, make([]float64, h.V)
			for key := range i + 1 {
				for kind := range 2 {
					score := dot(part(b, i, kind, j*h.QK, h.QK), part(b, key, kind, (h.Heads+j)*h.QK, h.QK))
					w := math.Exp(h.cap(score/math.Sqrt(float64(h.QK))) + mask.Data[(j*n+i)*2*n+2*key+kind])
					sum += w
					for f, v := range part(b, key, kind, 2*h.Heads*h.QK+j*h.V, h.V) {
						out[f] += w * v
					}
				}
			}
			for _, v := range out {
				row = append(row, v/sum)
			}
		}
		return row
	}
	c := NewPairCache[float64](h)
	step := func(at, count int, sequence func(b int) int) {
		t.Helper()
		var qkv []float64
		for b := range h.Batch {
			qkv = append(qkv, tokens[(sequence(b)*n+at)*width:][:count*width]...)
		}
		y := make([]float64, h.Batch*count*h.Heads*h.V)
		c.Attend(p, y, qkv, mask, Together(at))
		for b := range h.Batch {
			for i := range count {
				for f, w := range want(sequence(b), at+i) {
					if got := y[(b*count+i)*h.Heads*h.V+f]; !(math.Abs(got-w) <= 1e-12) {
						t.Fatalf("sequence %d, token %d, feature %d: got %v, want %v", b, at+i, f, got, w)
					}
				}
			}
		}
	}
	itself := func(b int) int { return b }
	step(0, 2, itself)
	step(2, 1, itself)
	c.Fork(h.Batch-1, 0, 3)
	step(3, n-3, func(b int) int {
		if b == 0 {
			return h.Batch - 1
		}
		return b
	})
	if want := 8 * 2 * h.Batch * n * h.Heads * (h.QK + h.V); c.Bytes() != want {
		t.Errorf("%d bytes, want %d", c.Bytes(), want)
	}
}
