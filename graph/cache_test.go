package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// cachedLayers builds one new token of every sequence for each kind of cache; x has one row per sequence.
var cachedLayers = map[string]struct {
	bytes int // memory of a full context, or of the state, in float64
	build func(s Scope, x, at Expr) (y Expr, c Cache)
}{
	"keys and values": {8 * 2 * 5 * 12, func(s Scope, x, at Expr) (Expr, Cache) {
		c := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 3, QK: 1, V: 3})
		return CachedAttention(x.Cols(0, 15), causalMask(s, 5), at, c), c
	}},
	"shared keys and values": {8 * 2 * 5 * 2 * 3, func(s Scope, x, at Expr) (Expr, Cache) {
		c := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 6, QK: 1, V: 2, Groups: 2})
		return CachedAttention(x.Cols(0, 12), causalMask(s, 5), at, c), c
	}},
	"latents": {8 * 2 * 5 * 7, func(s Scope, x, at Expr) (Expr, Cache) {
		c := NewLatentCache(LatentShape{Batch: 2, Context: 5, Heads: 2, QK: 3, V: 4, Latent: 5, Rotary: 2})
		up := s.Value("up", Normal(1), 5, 14)
		return CachedLatentAttention(x.Cols(0, 10), x.Cols(8, 15), up.Cols(0, 6), up.Cols(6, 14), causalMask(s, 5), at, c), c
	}},
	"pairs of keys and values": {8 * 2 * 5 * 2 * 2 * (1 + 2), func(s Scope, x, at Expr) (Expr, Cache) {
		c := NewPairCache(AttentionShape{Batch: 2, Context: 5, Heads: 2, QK: 1, V: 2})
		mask := s.Value("pairs", Const(0), 1, 2, 5, 10)
		for i := range mask.Tensor().Len() {
			if i%10/2 > i/10%5 || i%3 == 1 && i%10 > 0 {
				mask.Tensor().Set(i, math.Inf(-1))
			}
		}
		return CachedPairAttention(x, mask, at, c), c
	}},
	"sums": {8 * 2 * 3 * 1 * 4, func(_ Scope, x, at Expr) (Expr, Cache) {
		c := NewLinearCache(LinearShape{AttentionShape: AttentionShape{Batch: 2, Context: 5, Heads: 3, QK: 1, V: 3}, Causal: true, Map: EluPlusOne()})
		return CachedLinearAttention(x.Cols(0, 15), at, c), c
	}},
	"recurrence": {8 * 2 * 16, func(s Scope, x, at Expr) (Expr, Cache) {
		c := NewElmanCache(2, 16)
		return CachedElman(x, s.Value("w", Normal(0.3), 16, 16), at, c), c
	}},
}

func causalMask(s Scope, n int) Expr {
	mask := s.Value("mask", Const(0), n, n)
	for i := range mask.Tensor().Len() {
		if i%n > i/n {
			mask.Tensor().Set(i, math.Inf(-1))
		}
	}
	return mask
}

// TestCaches: a forked sequence continues like its original; a cache that was reset starts again.
func TestCaches(t *testing.T) {
	for name, layer := range cachedLayers {
		t.Run(name, func(t *testing.T) {
			g := New(Float64, 1)
			x, at := g.Root().Value("x", Const(0), 2, 16), g.Root().Ints("at", 1, 5, -1)
			y, c := layer.build(g.Root(), x, at)
			p := mustCompile(t, y)
			if got := c.Bytes(); got != 0 {
				t.Errorf("%d bytes before the first run", got)
			}
			step := func(position, a, b int) (rows [2][]float64) { // tokens a and b
				t.Helper()
				at.Ints()[0] = position
				for j := range 16 {
					x.Tensor().Set(j, float64((7*a+5*j)%11)/11-0.4)
					x.Tensor().Set(16+j, float64((7*b+5*j)%11)/11-0.4)
				}
				v := mustRun(t, p).Value().Floats()
				return [2][]float64{slices.Clone(v[:len(v)/2]), slices.Clone(v[len(v)/2:])}
			}
			first := step(0, 1, 2)
			step(1, 3, 4)
			if got := c.Bytes(); got != layer.bytes || 8*c.Numbers() != float64(got) {
				t.Errorf("%d bytes of %v numbers, want %d", got, c.Numbers(), layer.bytes)
			}
			for _, bad := range [][2]int{{-1, 0}, {2, 0}, {0, -1}, {0, 2}} {
				if err := c.Fork(bad[0], bad[1]); err == nil ||
					!strings.Contains(err.Error(), fmt.Sprintf("sequence %d to %d, the cache has 2", bad[0], bad[1])) {
					t.Errorf("fork %v: got error %v", bad, err)
				}
			}
			if y := step(2, 5, 6); slices.Equal(y[0], y[1]) {
				t.Error("sequences that differ continue alike")
			}
			if err := c.Fork(0, 1); err != nil {
				t.Fatal(err)
			}
			if y := step(3, 6, 6); !slices.Equal(y[0], y[1]) {
				t.Errorf("the copy continues with %v, want %v", y[1], y[0])
			}
			if y := step(4, 7, 8); slices.Equal(y[0], y[1]) {
				t.Error("the copy follows what it was copied from")
			}
			c.Reset()
			if y := step(0, 1, 2); !slices.Equal(y[0], first[0]) || !slices.Equal(y[1], first[1]) {
				t.Errorf("after a reset %v, want %v", y, first)
			}
		})
	}
}

// TestResetForgets: a state starts again only at position 0, and a cache of tokens copies no forgotten token.
func TestResetForgets(t *testing.T) {
	g := New(Float64, 1)
	x, at := g.Root().Value("x", Normal(1), 2, 16), g.Root().Ints("at", 1, 5, -1)
	state := NewElmanCache(2, 16)
	p := mustCompile(t, CachedElman(x, g.Root().Value("w", Normal(1), 16, 16), at, state))
	mustRun(t, p)
	state.Reset()
	at.Ints()[0] = 1
	if err := p.Run(); !errors.Is(err, ErrOrder) {
		t.Errorf("token 1 after a reset: got %v, want %v", err, ErrOrder)
	}
	if state.f64[0] != 0 {
		t.Errorf("the state is %v after a reset, want 0", state.f64[0])
	}
	kept := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 4, QK: 1, V: 2})
	p, at.Ints()[0] = mustCompile(t, CachedAttention(x, causalMask(g.Root(), 5), at, kept)), 0
	want := slices.Clone(mustRun(t, p).Value().Floats())
	kept.Reset()
	if err := kept.Fork(0, 1); err != nil {
		t.Fatal(err)
	}
	// Attention to the same token twice returns its value.
	if at.Ints()[0] = 1; !slices.Equal(mustRun(t, p).Value().Floats(), want) {
		t.Error("a forgotten token was copied")
	}
}

// A copy changes only the target sequence, whichever it is.
func TestCopySequence(t *testing.T) {
	for to, want := range [][]float64{{3, 4, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 3, 4}} {
		x := []float64{1, 2, 3, 4, 5, 6}
		if copySequence(x, 3, 1, to); !slices.Equal(x, want) {
			t.Errorf("sequence 1 to %d: got %v, want %v", to, x, want)
		}
	}
}
