package attention

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// latentCase is attention to latents of tokens at … at+new−1, with the latents before them.
type latentCase[T kernel.Float] struct {
	LatentShape
	at, tokens          int
	q, latent, upK, upV []T
	mask                Mask[T]
}

func newLatentCase[T kernel.Float](h LatentShape, at, tokens int) latentCase[T] {
	n := h.Batch * h.Context
	c := latentCase[T]{
		LatentShape: h, at: at, tokens: tokens, q: kerneltest.Random[T](rand.New(rand.NewPCG(1, 1)), n*h.Heads*(h.QK+
			h.Rotary)), latent: kerneltest.Random[T](rand.New(rand.NewPCG(2, 1)), n*h.Width()),
		upK:  kerneltest.Random[T](rand.New(rand.NewPCG(3, 1)), h.Latent*h.Heads*h.QK),
		upV:  kerneltest.Random[T](rand.New(rand.NewPCG(4, 1)), h.Latent*h.Heads*h.V),
		mask: Mask[T]{Data: make([]T, h.Heads*h.Context*h.Context), Batch: 1, Heads: h.Heads},
	}
	for i := range c.mask.Data { // causal, and each head hides one more distance
		head, query, key := i/(h.Context*h.Context), i/h.Context%h.Context, i%h.Context
		if key > query || query-key == head+1 {
			c.mask.Data[i] = T(math.Inf(-1))
		}
	}
	return c
}

// rows returns the rows of the tokens from … to of every sequence.
func (c latentCase[T]) rows(x []T, width, from, to int) (out []T) {
	for b := range c.Batch {
		out = append(out, x[(b*c.Context+from)*width:(b*c.Context+to)*width]...)
	}
	return out
}

// run fills the cache with the earlier tokens and attends.
func (c latentCase[T]) run(p *kernel.Pool) []T {
	cache := NewLatentCache[T](c.LatentShape)
	feed := func(from, to int) []T {
		y := make([]T, c.Batch*(to-from)*c.Heads*c.V)
		cache.Attend(
			p, y, c.rows(c.q, c.Heads*(c.QK+c.Rotary), from, to), c.rows(c.latent, c.Width(), from, to), c.upK, c.upV,
			c.mask, Together(from),
		)
		return y
	}
	if c.at > 0 {
		feed(0, c.at)
	}
	return feed(c.at, c.at+c.tokens)
}

// want computes the result from explicit keys and values.
func (c latentCase[T]) want(b, token, head int) []float64 {
	at := c.at + token
	latent := func(j, i int) float64 { return float64(c.latent[(b*c.Context+j)*c.Width()+i]) }
	q := c.q[((b*c.Context+at)*c.Heads+head)*(c.QK+c.Rotary):]
	weights, sum := make([]float64, at+1), 0.0
	for j := range weights {
		var score float64
		for i := range c.QK {
			for l := range c.Latent {
				score += float64(q[i]) * latent(j, l) * float64(c.upK[(l*c.Heads+head)*c.QK+i])
			}
		}
		for i := range c.Rotary {
			score += float64(q[c.QK+i]) * latent(j, c.Latent+i)
		}
		mask := float64(c.mask.Data[(head*c.Context+at)*c.Context+j])
		weights[j] = math.Exp(score/math.Sqrt(float64(c.QK+c.Rotary)) + mask)
		sum += weights[j]
	}
	out := make([]float64, c.V)
	for j, w := range weights {
		for i := range out {
			for l := range c.Latent {
				out[i] += w / sum * latent(j, l) * float64(c.upV[(l*c.Heads+head)*c.V+i])
			}
		}
	}
	return out
}

func TestLatentAttention(t *testing.T) {
	for _, h := range []LatentShape{
		{Batch: 2, Context: 5, Heads: 3, QK: 4, V: 2, Latent: 6},
		{Batch: 1, Context: 7, Heads: 1, QK: 3, V: 5, Latent: 2, Rotary: 4},
		{Batch: 3, Context: 4, Heads: headGroup + 1, QK: 2, V: 3, Latent: 5, Rotary: 2}, // a group of one head
	} {
		for at := range h.Context {
			for tokens := 1; at+tokens <= h.Context; tokens++ {
				t.Run(fmt.Sprintf("%+v/%d/%d", h, at, tokens), func(t *testing.T) {
					latentAttention(t, newLatentCase[float64](h, at, tokens), 1e-12)
					latentAttention(t, newLatentCase[float32](h, at, tokens), 2e-4)
				})
			}
		}
	}
}

func latentAttention[T kernel.Float](t *testing.T, c latentCase[T], tolerance float64) {
	t.Helper()
	y := c.run(kernel.NewPool(1))
	for i := 0; i < len(y); i += c.V {
		row, head := i/c.V/c.Heads, i/c.V%c.Heads
		for j, want := range c.want(row/c.tokens, row%c.tokens, head) {
			if got := float64(y[i+j]); !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
				t.Fatalf("row %d, head %d, feature %d: got %v, want %v", row, head, j, got, want)
			}
		}
	}
}

// TestLatentAttentionThreads: a case large enough for several threads gives the same bits on any number of them.
func TestLatentAttentionThreads(t *testing.T) {
	h := LatentShape{Batch: 2, Context: 70, Heads: 2*headGroup + 3, QK: 16, V: 24, Latent: 40, Rotary: 8}
	c := newLatentCase[float32](h, 60, 3)
	want := c.run(kernel.NewPool(1))
	for _, threads := range []int{2, 3} {
		if got := c.run(kernel.NewPool(threads)); !slices.Equal(got, want) {
			t.Errorf("%d threads: other numbers than with one", threads)
		}
	}
}
