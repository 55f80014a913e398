package attention

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// asRule returns a mask that computes the rows of m, which have the given number of keys, and does not store them.
// Every second row tells its span.
func asRule[T kernel.Float](m Mask[T], keys int) Mask[T] {
	data := m.Data
	m.Data, m.Rule = nil, &Rule[T]{
		Row: func(i, from int, into []T) { copy(into, data[i*keys+from : (i+1)*keys][:len(into)]) },
		Span: func(i int) (from, to int, ok bool) {
			row := data[i*keys:][:keys]
			s := visible(row)
			return s.from, s.to, i%2 == 0 && s.plain && !slices.Contains(row[s.from:s.to], T(math.Inf(-1)))
		},
	}
	return m
}

// A mask whose rows are computed gives the bits of one that is stored, in both passes.
func TestRulesEqualTables(t *testing.T) {
	list := append(slices.Clone(maskings), sparse...)
	for i, m := range list {
		h := self(2, 150, 2, 5, 7)
		if i >= len(maskings) {
			h = self(1, 391, 4, 3, 2).in(2)
		}
		sameByRule(t, m, h)
		sameByRule(t, m, h.sigmoids())
	}
	for _, m := range gapped {
		sameByRule(t, m.masking, shape(2, 303, m.keys*303, 2, 5, 7, 2))
	}
}

func sameByRule(t *testing.T, m masking, h Shape) {
	t.Helper()
	rng, p := rand.New(rand.NewPCG(1, 2)), kernel.NewPool(2)
	x := kerneltest.Random[float32](rng, h.numbers())
	dy := kerneltest.Random[float32](rng, h.Batch*h.Queries*h.Heads*h.V)
	var results [2][]float32
	for i := range results {
		mask := m.mask(h)
		rounded := Mask[float32]{kerneltest.Rounded[float32](mask.Data), mask.Batch, mask.Heads, nil}
		if i == 1 {
			rounded = asRule(rounded, h.Keys)
		}
		y, dx := make([]float32, len(dy)), make([]float32, len(x))
		f := &Flash[float32]{
			Shape: h, Products: gemm.Exact[float32]{}, Spans: &Spans{}, In: partsOf(h, x), Mask: rounded,
			LSE: make([]float32, 2*h.Batch*h.Heads*h.Queries), Scratch: make([]float32, FlashScratch(p, h)),
			Drop: kernel.DropMask{P: 0.2, Key: 7},
		}
		f.Forward(p, y)
		f.Backward(p, partsOf(h, dx), y, dy)
		results[i] = append(y, dx...)
	}
	if !kerneltest.SameBits(results[0], results[1]) {
		t.Errorf("%s, %+v: %v", m.name, h, firstDifference(results[1], results[0]))
	}
}

// A computed mask is read again once it has changed, and not before.
func TestChangedRules(t *testing.T) {
	h, p := self(1, 3, 1, 1, 1), kernel.NewPool(1)
	width, reads := 1, 0
	rule := &Rule[float64]{Row: func(i, from int, into []float64) {
		reads++
		for j := range into {
			into[j] = hideIf(from+j > i || from+j <= i-width)
		}
	}}
	s := &Spans{}
	for run, c := range []struct{ width, changes, reads, from int }{{1, 0, 3, 2}, {1, 0, 3, 2}, {2, 1, 6, 1}} {
		width, rule.Changes, s.Run = c.width, uint64(c.changes), uint64(run+1)
		readMask(p, h, s, Mask[float64]{Batch: 1, Heads: 1, Rule: rule})
		if got := s.lanes[0][0].queries[2]; reads != c.reads || got != (span{c.from, 3, true}) {
			t.Errorf(
				"run %d: got %d rows read and keys %+v of the last query, want %d and %d … 2", run, reads, got, c.reads,
				c.from,
			)
		}
	}
}

// The caches give the same bits with a computed mask, while they grow, and have room for the tokens that came: at most
// twice as many, or the least.
func TestCachesGrow(t *testing.T) {
	// A multiple of 4, so that the rows of every sequence begin at a border of 16 bytes: in plain Go the sums of gonum
	// begin there.
	const tokens, context = 152, 1 << 20
	rng, p := rand.New(rand.NewPCG(4, 2)), kernel.NewPool(2)
	// of the last tokens it hides some; a context of any length has no table
	far := func(heads, keys int) Mask[float32] {
		return Mask[float32]{Batch: 1, Heads: heads, Rule: &Rule[float32]{Row: func(i, from int, into []float32) {
			for j := range into {
				key, query := (from+j)/keys, i%context
				into[j] = float32(hideIf(key > query || (query-key)%5 == 4) - 0.01*float64(query-key))
			}
		}}}
	}
	short := func(m Mask[float32], heads, keys int) Mask[float32] { // the same as a table of the tokens that come
		m.Data = make([]float32, heads*tokens*keys*tokens)
		for i := range heads * tokens {
			m.Rule.Row(i/tokens*context+i%tokens, 0, m.Data[i*keys*tokens:][:keys*tokens])
		}
		m.Rule = nil
		return m
	}
	upK, upV := kerneltest.Random[float32](rng, 5*2*4), kerneltest.Random[float32](rng, 5*2*3)
	type attend func(y, x []float32, m Mask[float32], at Places)
	type sized interface{ Bytes() int }
	h := func(context int) Shape { return self(2, context, 2, 4, 3) }
	for name, c := range map[string]struct {
		width int // of the rows of a token
		keys  int // of a token
		bytes int // of a token
		of    func(context int) (sized, attend)
	}{
		"keys and values": {h(1).Width(), 1, 4 * 2 * 2 * 7, func(context int) (sized, attend) {
			c := NewKVCache[float32](h(context), Room{})
			return c, func(y, x []float32, m Mask[float32], at Places) { c.Attend(p, y, x, m, at) }
		}},
		"pairs": {2 * h(1).Width(), 2, 4 * 2 * 2 * 2 * 7, func(context int) (sized, attend) {
			c := NewPairCache[float32](h(context))
			return c, func(y, x []float32, m Mask[float32], at Places) { c.Attend(p, y, x, m, at) }
		}},
		"latents": {2*6 + 7, 1, 4 * 2 * 7, func(context int) (sized, attend) {
			c := NewLatentCache[float32](
				LatentShape{Batch: 2, Context: context, Heads: 2, QK: 4, V: 3, Latent: 5, Rotary: 2},
			)
			return c, func(y, x []float32, m Mask[float32], at Places) {
				n := len(y) / 6
				c.Attend(p, y, x[:12*n], x[12*n:], upK, upV, m, at)
			}
		}},
	} {
		cache, long := c.of(context)
		_, few := c.of(tokens)
		rule := far(2, c.keys)
		table := short(rule, 2, c.keys)
		for at, n := 0, 0; at < tokens; at += n {
			n = min(tokens-at, 1+at%40)
			x := kerneltest.Random[float32](rng, 2*n*c.width)
			y, want := make([]float32, 2*n*6), make([]float32, 2*n*6)
			long(y, x, rule, Together(at))
			few(want, x, table, Together(at))
			if !kerneltest.SameBits(y, want) {
				t.Fatalf("%s, %d tokens at %d: %v", name, n, at, firstDifference(y, want))
			}
			if got, want := cache.Bytes(), c.bytes*max(least, 2*(at+n)); got > want {
				t.Fatalf("%s: got %d bytes for %d tokens, want at most %d", name, got, at+n, want)
			}
		}
		if got := cache.Bytes() / c.bytes; got != 256 {
			t.Errorf("%s: got room for %d tokens, want 256", name, got)
		}
	}
}
