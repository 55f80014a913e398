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

// Every head of every sequence attends with its own query to the keys so far, with its rows of the mask, for tokens
// that come in several calls; a copy of another sequence continues like that one.
func TestKVCache(t *testing.T) {
	for _, h := range []Shape{
		self(2, 5, 3, 4, 2), self(3, 4, 1, 2, 5),
		self(2, 5, 6, 4, 3).in(3).sigmoids(), self(2, 5, 6, 4, 3).in(3).capped(), self(2, 5, 6, 4, 3).in(2),
		self(3, 4, 4, 2, 5).in(1),
		self(2, 40, 3, 64, 48), self(2, 40, 6, 64, 48).in(2).capped(), // large enough for several threads
	} {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%+v/%d", h, threads), func(t *testing.T) { kvCache(t, h, kernel.NewPool(threads)) })
		}
	}
}

func kvCache(t *testing.T, h Shape, p *kernel.Pool) {
	n, width := h.Keys, h.Width()
	rng := rand.New(rand.NewPCG(1, 7))
	tokens := kerneltest.Random[float64](rng, h.Batch*n*width)
	mask := Mask[float64]{Data: kerneltest.Random[float64](rng, h.Heads*n*n), Batch: 1, Heads: h.Heads}
	for i := range mask.Data { // causal, and each head hides one more distance
		head, query, key := i/(n*n), i/n%n, i%n
		if key > query || query-key == head+1 {
			mask.Data[i] = math.Inf(-1)
		}
	}
	part := func(b, i, from, size int) []float64 { return tokens[(b*n+i)*width+from:][:size] }
	want := func(b, i int) (row []float64) {
		for j := range h.Heads {
			group := j * h.Groups / h.Heads
			weights, sum, seen, out := make([]float64, i+1), 0.0, 0.0, make([]float64, h.V)
			for key := range weights {
				q, k := part(b, i, j*h.QK, h.QK), part(b, key, (h.Heads+group)*h.QK, h.QK)
				for f := range q {
					weights[key] += q[f] * k[f]
				}
				weights[key] = math.Exp(h.cap(weights[key]/math.Sqrt(float64(h.QK))) + mask.Data[(j*n+i)*n+key])
				if sum += weights[key]; weights[key] > 0 {
					seen++
				}
			}
			if h.Weights == Sigmoids {
				sum = 1
				for key, w := range weights {
					weights[key] = w / (w + seen)
				}
			}
			for key, w := range weights {
				for f, v := range part(b, key, (h.Heads+h.Groups)*h.QK+group*h.V, h.V) {
					out[f] += w / sum * v
				}
			}
			row = append(row, out...)
		}
		return row
	}
	c := NewKVCache[float64](h, Room{})
	feed := func(at, count int, from []int) []float64 { // each sequence gets the tokens of the sequence from
		var qkv []float64
		for _, b := range from {
			qkv = append(qkv, tokens[(b*n+at)*width:][:count*width]...)
		}
		y := slices.Repeat([]float64{math.NaN()}, h.Batch*count*h.Heads*h.V)
		c.Attend(p, y, qkv, mask, Together(at))
		return y
	}
	check := func(y []float64, at, count int, from []int) {
		t.Helper()
		size := h.Heads * h.V
		for i := range len(y) / size {
			for f, w := range want(from[i/count], at+i%count) {
				if got := y[i*size+f]; !(math.Abs(got-w) <= 1e-12*max(1, math.Abs(w))) {
					t.Fatalf("token %d of sequence %d, feature %d: got %v, want %v", at+i%count, i/count, f, got, w)
				}
			}
		}
	}
	own := []int{0, 1, 2}[:h.Batch]
	check(feed(0, 2, own), 0, 2, own)
	check(feed(2, 1, own), 2, 1, own)
	c.Fork(0, h.Batch-1, 3)
	forked := slices.Clone(own)
	forked[h.Batch-1] = 0
	check(feed(3, 1, forked), 3, 1, forked)
	if want := 8 * h.Batch * h.Groups * n * (h.QK + h.V); c.Bytes() != want {
		t.Errorf("got %d bytes, want %d", c.Bytes(), want)
	}
}

// A copy of another sequence's latents continues like that one.
func TestLatentFork(t *testing.T) {
	h := LatentShape{Batch: 3, Context: 5, Heads: 2, QK: 3, V: 4, Latent: 6, Rotary: 2}
	c := newLatentCase[float64](h, 3, 1)
	run := func(fork bool) []float64 {
		cache, p := NewLatentCache[float64](h), kernel.NewPool(1)
		feed := func(from, to int) []float64 {
			y := make([]float64, h.Batch*(to-from)*h.Heads*h.V)
			q, latent := c.rows(c.q, h.Heads*(h.QK+h.Rotary), from, to), c.rows(c.latent, h.Width(), from, to)
			if fork && from == 3 { // sequence 2 gets what sequence 1 does
				copy(q[2*len(q)/3:], q[len(q)/3:2*len(q)/3])
				copy(latent[2*len(latent)/3:], latent[len(latent)/3:2*len(latent)/3])
			}
			cache.Attend(p, y, q, latent, c.upK, c.upV, c.mask, Together(from))
			return y
		}
		feed(0, 3)
		if fork {
			cache.Fork(1, 2, 3)
		}
		if want := 8 * h.Batch * h.Context * h.Width(); cache.Bytes() != want {
			t.Errorf("got %d bytes, want %d", cache.Bytes(), want)
		}
		return feed(3, 4)
	}
	want, got := run(false), run(true)
	size := len(want) / 3
	if !slices.Equal(got[:2*size], want[:2*size]) || !slices.Equal(got[2*size:], want[size:2*size]) {
		t.Errorf("got %v, want %v with the second sequence in place of the third", got, want)
	}
}

// Where the mask hides a key, the score has no effect, even if it is infinite or NaN.
func TestAddMask(t *testing.T) {
	hidden, inf := math.Inf(-1), math.Inf(1)
	x := []float64{inf, math.NaN(), 1, 2}
	addMask(x, []float64{9, hidden, hidden, hidden, -3}, 1)
	if want := []float64{hidden, hidden, hidden, -1}; !slices.Equal(x, want) {
		t.Errorf("got %v, want %v", x, want)
	}
	if addMask(x, nil, 5); x[3] != -1 {
		t.Errorf("without a mask got %v", x)
	}
}

// TestWeightsOfEveryHead: heads that are computed at the same time have separate memory for their weights.
func TestWeightsOfEveryHead(t *testing.T) {
	h := self(2, 3, 2, 2, 1)
	c := NewKVCache[float64](h, Room{})
	qkv := make([]float64, 2*3*h.Width())
	for i := range qkv {
		qkv[i] = float64(i%7) / 3
	}
	c.Attend(
		kernel.NewPool(1), make([]float64, 2*3*2), qkv, Mask[float64]{Data: make([]float64, 9), Batch: 1, Heads: 1},
		Together(0),
	)
	for head := range 4 {
		var sum float64
		for _, w := range c.weights[head*3:][:3] {
			sum += w
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("head %d: the weights of the last query add up to %v", head, sum)
		}
	}
}

// Together returns the places of a step of all sequences at the same position.
func Together(at int) Places { return Places{At: []int{at}} }
