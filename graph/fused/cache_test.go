package fused

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/graphtest"
)

// cachedLayers builds one new token of every sequence for each kind of cache; x has one row per sequence.
var cachedLayers = map[string]struct {
	bytes int // memory of a full context, or of the state, in float64
	build func(s graph.Scope, x, at graph.Expr) (y graph.Expr, c Cache)
}{
	"keys and values": {8 * 2 * 5 * 12, func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 3, QK: 1, V: 3})
		return CachedAttention(x.Columns(0, 15), causalMask(s, 5), at, c), c
	}},
	"keys and values with sinks": {8 * 2 * 5 * 12, func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 3, QK: 1, V: 3})
		return CachedSinkAttention(x.Columns(0, 15), causalMask(s, 5), s.Value("sinks", graph.Normal(1), 3), at, c), c
	}},
	"keys, values and gates": {8 * 2 * 5 * (12 + 2*3), func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewForgettingCache(AttentionShape{Batch: 2, Context: 5, Heads: 3, QK: 1, V: 3})
		return CachedForgettingAttention(x.Columns(0, 15), x.Columns(0, 3), causalMask(s, 5), at, c), c
	}},
	"shared keys and values": {8 * 2 * 5 * 2 * 3, func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 6, QK: 1, V: 2, Groups: 2})
		return CachedAttention(x.Columns(0, 12), causalMask(s, 5), at, c), c
	}},
	"latents": {8 * 2 * 5 * 7, func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewLatentCache(LatentShape{Batch: 2, Context: 5, Heads: 2, QK: 3, V: 4, Latent: 5, Rotary: 2})
		up := s.Value("up", graph.Normal(1), 5, 14)
		return CachedLatentAttention(
			x.Columns(0, 10), x.Columns(8, 15), up.Columns(0, 6), up.Columns(6, 14), causalMask(s, 5), at, c,
		), c
	}},
	"pairs of keys and values": {8 * 2 * 5 * 2 * 2 * 3, func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewPairCache(AttentionShape{Batch: 2, Context: 5, Heads: 2, QK: 1, V: 2})
		mask := s.Value("pairs", graph.Const(0), 1, 2, 5, 10)
		for i := range mask.Tensor().Len() {
			if i%10/2 > i/10%5 || i%3 == 1 && i%10 > 0 {
				mask.Tensor().Set(i, math.Inf(-1))
			}
		}
		return CachedPairAttention(x, mask, at, c), c
	}},
	"sums": {8 * 2 * 3 * 1 * 4, func(_ graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewLinearCache(
			LinearShape{
				AttentionShape: AttentionShape{Batch: 2, Context: 5, Heads: 3, QK: 1, V: 3}, Causal: true,
				Map: EluPlusOne(),
			},
		)
		return CachedLinearAttention(x.Columns(0, 15), at, c), c
	}},
	"states": {8 * 2 * 2 * 2 * 3, func(_ graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewRecurrenceCache(RecurrenceShape{Batch: 2, Context: 5, Heads: 2, QK: 2, V: 3, Delta: true})
		return CachedRecurrence(x.Columns(0, 14), graph.Expr{}, x.Columns(14, 16), at, c), c
	}},
	"scan": {8 * 2 * 2 * 8, func(_ graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewScanCache(ScanShape{2, 5, 8, true})
		return CachedScan(x.Columns(0, 8), x.Columns(8, 16), at, c), c
	}},
	"recurrence": {8 * 2 * 16, func(s graph.Scope, x, at graph.Expr) (graph.Expr, Cache) {
		c := NewElmanCache(2, 16)
		return CachedElman(x, s.Value("w", graph.Normal(0.3), 16, 16), at, c), c
	}},
}

func causalMask(s graph.Scope, n int) graph.Expr {
	mask := s.Value("mask", graph.Const(0), n, n)
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
			g := graph.New(graph.Float64, 1)
			x, at := g.Root().Value("x", graph.Const(0), 2, 16), g.Root().Ints("at", 1, 5, -1)
			y, c := layer.build(g.Root(), x, at)
			p := graphtest.Compile(t, y)
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
				v := graphtest.Run(t, p).Value().Floats()
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
	g := graph.New(graph.Float64, 1)
	x, at := g.Root().Value("x", graph.Normal(1), 2, 16), g.Root().Ints("at", 1, 5, -1)
	state := NewElmanCache(2, 16)
	p := graphtest.Compile(t, CachedElman(x, g.Root().Value("w", graph.Normal(1), 16, 16), at, state))
	graphtest.Run(t, p)
	state.Reset()
	at.Ints()[0] = 1
	if err := p.Run(); !errors.Is(err, ErrOrder) {
		t.Errorf("token 1 after a reset: got %v, want %v", err, ErrOrder)
	}
	if state.held.F64[0] != 0 {
		t.Errorf("the state is %v after a reset, want 0", state.held.F64[0])
	}
	kept := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 4, QK: 1, V: 2})
	p, at.Ints()[0] = graphtest.Compile(t, CachedAttention(x, causalMask(g.Root(), 5), at, kept)), 0
	want := slices.Clone(graphtest.Run(t, p).Value().Floats())
	kept.Reset()
	if err := kept.Fork(0, 1); err != nil {
		t.Fatal(err)
	}
	// Attention to the same token twice returns its value.
	if at.Ints()[0] = 1; !slices.Equal(graphtest.Run(t, p).Value().Floats(), want) {
		t.Error("a forgotten token was copied")
	}
}

// TestSelect takes steps of some sequences, each at its own position, and begins one of them again: the rows are those
// of all tokens at once. A selection copies nothing of other sequences.
func TestSelect(t *testing.T) {
	for name, c := range stepCases() {
		t.Run(name, func(t *testing.T) {
			g := graph.New(graph.Float64, 3)
			x := g.Root().Value("x", graph.Normal(1), 15, c.width)
			want := graphtest.Values(t, c.full(g.Root(), x))
			v := len(want) / 15
			step := func(cache Cache, n int, rows, first []int) {
				t.Helper()
				s := g.Sibling()
				few := s.Root().Value("x", graph.Const(0), len(rows)*n, c.width)
				at := s.Root().Ints("at", len(rows), 9, -1)
				copy(at.Ints(), first)
				for i := range few.Tensor().Len() {
					token, b := i/c.width%n, i/c.width/n
					few.Tensor().Set(i, x.Tensor().At((rows[b]*5+first[b]+token)*c.width+i%c.width))
				}
				got := graphtest.Values(t, c.step(s.Root(), few, at, cache))
				for b, row := range rows {
					graphtest.Close(t, fmt.Sprintf("tokens from %d of sequence %d", first[b], row),
						got[b*n*v:(b+1)*n*v], want[(row*5+first[b])*v:(row*5+first[b]+n)*v], 1e-12)
				}
			}
			pair := []int{2, 0}
			two := c.cache.Select(pair)
			step(c.cache.Select([]int{2}), 2, []int{2}, []int{0})
			step(two, 1, pair, []int{2, 0})
			step(c.cache, 1, []int{0, 1, 2}, []int{1, 0, 3})
			copy(pair, []int{1, 2}) // of the next steps
			step(two, 1, pair, []int{1, 4})
			if err := c.cache.Keep(1, 0); err != nil {
				t.Fatal(err)
			}
			step(two, 2, pair, []int{0, 0})
			if err := c.cache.Keep(2, 2); err != nil {
				t.Fatal(err)
			}
			step(two, 1, pair, []int{2, 2})
			if two.Bytes() != c.cache.Bytes() || two.Numbers() != c.cache.Numbers() {
				t.Errorf("a selection has %d bytes of %v numbers, the cache %d of %v",
					two.Bytes(), two.Numbers(), c.cache.Bytes(), c.cache.Numbers())
			}
		})
	}
}

// A selection of sequences that the cache lacks, or of one twice, fails when it runs, and so does a cut that a cache
// cannot make.
func TestSelectRefuses(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x, at := g.Root().Value("x", graph.Normal(1), 2, 4), g.Root().Ints("at", 2, 5, -1)
	cache, rows := NewElmanCache(3, 4), []int{0, 0}
	w := g.Root().Value("w", graph.Normal(1), 4, 4)
	p := graphtest.Compile(t, CachedElman(x, w, at, cache.Select(rows).(*ElmanCache)))
	for want, list := range map[string][]int{
		"got sequence 0 twice": {0, 0}, "got sequence 3, the cache has 3": {1, 3}, "got sequence -1": {-1, 1},
	} {
		if copy(rows, list); p.Run() == nil || !strings.Contains(p.Run().Error(), want) {
			t.Errorf("sequences %v: got error %v, want %q", list, p.Run(), want)
		}
	}
	copy(rows, []int{1, 2})
	graphtest.Run(t, p)
	if at.Ints()[0], at.Ints()[1] = 1, 1; p.Run() != nil {
		t.Errorf("the second token: %v", p.Run())
	}
	if err := cache.Keep(1, 1); !errors.Is(err, ErrOrder) {
		t.Errorf("keep 1 of 2 tokens of a state: got %v, want %v", err, ErrOrder)
	}
	tokens := NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 4, QK: 1, V: 2})
	for want, err := range map[string]error{
		"keep: sequence 2, the cache has 2": tokens.Keep(2, 0), "keep: sequence -1": tokens.Keep(-1, 0),
		"keep: 1 tokens of sequence 0, which has 0": tokens.Keep(0, 1), "keep: -1 tokens": cache.Keep(0, -1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// A cache for a window has less room than one for all tokens, and continues with the same bits. It refuses to continue
// after tokens whose window has gone.
func TestWindowCache(t *testing.T) {
	h := AttentionShape{Batch: 2, Context: 300, Heads: 2, QK: 3, V: 4}
	g := graph.New(graph.Float32, 1)
	mask := causalMask(g.Root(), 300)
	for i := range mask.Tensor().Len() {
		if i%300 <= i/300-7 && i%300 >= 2 {
			mask.Tensor().Set(i, math.Inf(-1))
		}
	}
	x, at := g.Root().Value("x", graph.Const(0), 2, h.Width()), g.Root().Ints("at", 1, 300, -1)
	some, all := NewWindowCache(h, 7, 2), NewKVCache(h)
	p := graphtest.Compile(t, CachedAttention(x, mask, at, some))
	q := graphtest.Compile(t, CachedAttention(x, mask, at, all))
	step := func(position int) error {
		at.Ints()[0] = position
		for i := range x.Tensor().Len() {
			x.Tensor().Set(i, math.Sin(float64(position*x.Tensor().Len()+i)))
		}
		if err := p.Run(); err != nil {
			return err
		}
		if got, want := p.Value().Floats(), graphtest.Run(t, q).Value().Floats(); !slices.Equal(got, want) {
			t.Fatalf("token %d: got %v, want %v", position, got, want)
		}
		return nil
	}
	for position := range 300 {
		if err := step(position); err != nil {
			t.Fatal(err)
		}
	}
	if want := 2 * (16 + 96) * h.Heads * (h.QK + h.V); some.Numbers() != float64(want) || some.Bytes() != 4*want ||
		some.Bytes()*300 != all.Bytes()*112 {
		t.Errorf("got %d bytes of %v numbers, want %d numbers", some.Bytes(), some.Numbers(), want)
	}
	const gone = "of which the cache has a window: tokens out of order"
	if err := step(100); !errors.Is(err, ErrOrder) ||
		!strings.Contains(err.Error(), "position 100 after 300 tokens, "+gone) {
		t.Errorf("a position that has gone: got %v", err)
	}
	if err := some.Keep(1, 100); !errors.Is(err, ErrOrder) ||
		!strings.Contains(err.Error(), "keep 100 of 300 tokens, "+gone) {
		t.Errorf("keep tokens that have gone: got %v", err)
	}
	if err := cmp.Or(
		some.Keep(1, 290), all.Keep(1, 290), some.Keep(0, 290), all.Keep(0, 290), step(290), some.Keep(1, 0), step(0),
	); err != nil {
		t.Error(err)
	}
	for _, bad := range [][2]int{{0, 1}, {-1, 0}, {3, -1}, {0, 0}} {
		s := g.Sibling()
		y := CachedAttention(
			s.Root().Value("x", graph.Const(0), 2, h.Width()), causalMask(s.Root(), 300),
			s.Root().Ints("at", 1, 300, -1),
			NewWindowCache(h, bad[0], bad[1]),
		)
		if _, err := graph.Compile(y); err == nil || !strings.Contains(
			err.Error(),
			fmt.Sprintf("window of %d tokens and the first %d, want 1 or more, and 0 or more", bad[0], bad[1]),
		) {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}

// stepCase is a layer on all tokens of a sequence, and on the newest ones only.
type stepCase struct {
	width int
	full  func(s graph.Scope, x graph.Expr) graph.Expr
	step  func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr
	cache Divisible
}

// stepCases returns the layers on 3 sequences of 5 tokens.
func stepCases() map[string]stepCase {
	h := AttentionShape{Batch: 3, Context: 5, Heads: 2, QK: 3, V: 4}
	causal := func(s graph.Scope, shape ...int) graph.Expr {
		mask := s.Value("mask", graph.Normal(1), shape...)
		for i := range mask.Tensor().Len() {
			if i%5 > i/5%5 {
				mask.Tensor().Set(i, math.Inf(-1))
			}
		}
		return mask
	}
	must := func(y graph.Expr, ok bool) graph.Expr {
		if !ok {
			panic("no kernel")
		}
		return y
	}
	cases := map[string]stepCase{}
	for _, mask := range [][]int{{5, 5}, {1, 2, 5, 5}} {
		for groups := range 3 {
			h := h
			h.Groups, h.Cap = groups, []float64{0, 0.6, 0}[groups]
			c := NewKVCache(h)
			cases[fmt.Sprint("keys and values of groups ", groups, ", mask ", mask)] = stepCase{h.Width(),
				func(s graph.Scope, x graph.Expr) graph.Expr { return must(Attention(x, causal(s, mask...), h, 0)) },
				func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
					return CachedAttention(x, causal(s, mask...), at, c.(*KVCache))
				}, c}
		}
		c := NewKVCache(h)
		cases[fmt.Sprint("sigmoids, mask ", mask)] = stepCase{
			h.Width(),
			func(s graph.Scope, x graph.Expr) graph.Expr {
				return must(SigmoidAttention(x, causal(s, mask...), h, 0))
			},
			func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
				return CachedSigmoidAttention(x, causal(s, mask...), at, c.(*KVCache))
			}, c,
		}
		f := NewForgettingCache(h)
		gates := func(x graph.Expr) graph.Expr { return x.Columns(h.Width(), h.Width()+h.Heads) }
		cases[fmt.Sprint("gates, mask ", mask)] = stepCase{
			h.Width() + h.Heads,
			func(s graph.Scope, x graph.Expr) graph.Expr {
				return must(ForgettingAttention(x.Columns(0, h.Width()), gates(x), causal(s, mask...), h, 0))
			},
			func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
				qkv := x.Columns(0, h.Width())
				return CachedForgettingAttention(qkv, gates(x), causal(s, mask...), at, c.(*KVCache))
			}, f,
		}
		l := LatentShape{Batch: 3, Context: 5, Heads: 2, QK: 3, V: 4, Latent: 6, Rotary: 2}
		ways := func(s graph.Scope) (k, v graph.Expr) {
			return s.Value("k", graph.Normal(1), 6, 6), s.Value("v", graph.Normal(1), 6, 8)
		}
		d := NewLatentCache(l)
		cases[fmt.Sprint("latents, mask ", mask)] = stepCase{10 + 8,
			func(s graph.Scope, x graph.Expr) graph.Expr { // keys [c·upK | r] and values c·upV, packed
				k, v := ways(s)
				latent, r := x.Columns(10, 16), x.Columns(16, 18)
				keys := latent.MatMul(k)
				kv := keys.Columns(0, 3).Join(r, keys.Columns(3, 6), r, latent.MatMul(v))
				return must(
					Attention(
						x.Columns(0, 10).Join(kv), causal(s, mask...),
						AttentionShape{Batch: 3, Context: 5, Heads: 2, QK: 5, V: 4}, 0,
					),
				)
			},
			func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
				k, v := ways(s)
				return CachedLatentAttention(
					x.Columns(0, 10), x.Columns(10, 18), k, v, causal(s, mask...), at, c.(*LatentCache),
				)
			}, d}
	}
	for name, phi := range map[string]FeatureMap{"sums, elu+1": EluPlusOne(), "sums, taylor": Taylor(0.1)} {
		l := LinearShape{h, true, phi}
		c := NewLinearCache(l)
		cases[name] = stepCase{h.Width(), func(_ graph.Scope, x graph.Expr) graph.Expr {
			return must(LinearAttention(x, graph.Expr{}, l))
		},
			func(_ graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
				return CachedLinearAttention(x, at, c.(*LinearCache))
			}, c}
	}
	for _, delta := range []bool{false, true} {
		r := RecurrenceShape{Batch: 3, Context: 5, Heads: 2, QK: 3, V: 4, Delta: delta}
		c := NewRecurrenceCache(r)
		parts := func(x graph.Expr) (qkv, gates, beta graph.Expr) {
			return x.Columns(0, 20), x.Columns(20, 26).Square().Scale(-1), x.Columns(26, 28)
		}
		cases[fmt.Sprint("states, delta rule ", delta)] = stepCase{28,
			func(_ graph.Scope, x graph.Expr) graph.Expr {
				qkv, gates, beta := parts(x)
				y, _, ok := Recurrence(qkv, gates, beta, graph.Expr{}, r)
				return must(y, ok)
			},
			func(_ graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
				qkv, gates, beta := parts(x)
				return CachedRecurrence(qkv, gates, beta, at, c.(*RecurrenceCache))
			}, c}
	}
	v := NewConvCache(3, 4, 4)
	cases["convolution"] = stepCase{4, func(s graph.Scope, x graph.Expr) graph.Expr {
		return must(Convolve(x, s.Value("w", graph.Normal(1), 16), 5))
	},
		func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
			return CachedConvolve(x, s.Value("w", graph.Normal(1), 16), at, c.(*ConvCache))
		}, v}
	late := NewConvCache(3, 4, 3)
	cases["delay"] = stepCase{4, func(_ graph.Scope, x graph.Expr) graph.Expr { return x.Delay(2, 5) },
		func(_ graph.Scope, x, at graph.Expr, c Cache) graph.Expr { return CachedDelay(x, at, c.(*ConvCache)) }, late}
	ids := NewConvCache(3, 1, 3)
	cases["delay of integers"] = stepCase{4, func(_ graph.Scope, x graph.Expr) graph.Expr {
		return x.ArgMax().DelayInts(2, 5, 4).OneHot(5)
	},
		func(_ graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
			return CachedDelayInts(x.ArgMax(), at, 4, c.(*ConvCache)).OneHot(5)
		}, ids}
	scan := ScanShape{3, 5, 4, false}
	s := NewScanCache(scan)
	cases["scan"] = stepCase{8, func(_ graph.Scope, x graph.Expr) graph.Expr {
		return must(Scan(x.Columns(0, 4), x.Columns(4, 8), scan))
	},
		func(_ graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
			return CachedScan(x.Columns(0, 4), x.Columns(4, 8), at, c.(*ScanCache))
		}, s}
	c := NewElmanCache(3, 4)
	cases["recurrence"] = stepCase{4, func(s graph.Scope, x graph.Expr) graph.Expr {
		return must(Elman(x, s.Value("w", graph.Normal(1), 4, 4), 3))
	},
		func(s graph.Scope, x, at graph.Expr, c Cache) graph.Expr {
			return CachedElman(x, s.Value("w", graph.Normal(1), 4, 4), at, c.(*ElmanCache))
		}, c}
	return cases
}

// Steps of two new tokens, one, and two give the rows of all five, and again after starting over. A forked sequence
// continues as a copy, and the third one does not change. Tested in both types.
func TestSteps(t *testing.T) {
	for dtype, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-12, graph.Float32: 1e-4} {
		for name, c := range stepCases() {
			t.Run(fmt.Sprint(name, "/", dtype), func(t *testing.T) {
				g := graph.New(dtype, 3)
				x := g.Root().Value("x", graph.Normal(1), 15, c.width)
				want := graphtest.Values(t, c.full(g.Root(), x))
				v := len(want) / 15
				if c.cache.Bytes() != 0 || c.cache.Fork(0, 1) != nil {
					t.Error("a new cache holds something, or cannot be forked")
				}
				run := func(from, n, second int) { // the second sequence gets the tokens of sequence second
					s := g.Sibling()
					few, at := s.Root().Value("x", graph.Const(0), 3*n, c.width), s.Root().Ints("at", 1, 9, -1)
					at.Ints()[0] = from
					of := []int{0, second, 2}
					for i := range few.Tensor().Len() {
						token, b := i/c.width%n, i/c.width/n
						few.Tensor().Set(i, x.Tensor().At((of[b]*5+from+token)*c.width+i%c.width))
					}
					got := graphtest.Values(t, c.step(s.Root(), few, at, c.cache))
					for b := range 3 {
						graphtest.Close(t, fmt.Sprintf("tokens from %d of sequence %d", from, b),
							got[b*n*v:(b+1)*n*v], want[(of[b]*5+from)*v:(of[b]*5+from+n)*v], tolerance)
					}
				}
				for range 2 {
					run(0, 2, 1)
					run(2, 1, 1)
					run(3, 2, 1)
				}
				run(0, 3, 1)
				if err := c.cache.Fork(2, 1); err != nil {
					t.Fatal(err)
				}
				run(3, 1, 2)
				if err := c.cache.Fork(0, 1); err != nil {
					t.Fatal(err)
				}
				run(4, 1, 0)
				if c.cache.Bytes() == 0 {
					t.Error("a cache of tokens has no bytes")
				}
				if c.cache.Fork(1, 0) != nil || c.cache.Fork(2, 2) != nil {
					t.Error("a sequence that is there cannot be forked")
				}
				c.cache.Reset()
				run(0, 5, 1)
			})
		}
	}
}

// A token beyond the context is an error.
func TestStepsEnd(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	x, at := g.Root().Value("x", graph.Normal(1), 4, 16), g.Root().Ints("at", 1, 9, -1)
	p := graphtest.Compile(
		t,
		CachedAttention(
			x, causalMask(g.Root(), 5), at, NewKVCache(AttentionShape{Batch: 2, Context: 5, Heads: 4, QK: 1, V: 2}),
		),
	)
	for from, want := range []string{0: "", 3: "", 4: "run: cached attention", 5: "run: cached attention"} {
		if from == 1 || from == 2 {
			continue
		}
		at.Ints()[0] = from
		if want != "" {
			want = fmt.Sprintf("%s: tokens %d … %d of a context of 5", want, from, from+1)
		}
		if err := p.Run(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("tokens from %d: got error %v, want %q", from, err, want)
		}
	}
}

// A mask is read again in every run: its current entries count.
func TestMaskOfTheRun(t *testing.T) {
	h := AttentionShape{Batch: 1, Context: 3, Heads: 1, QK: 2, V: 2}
	build := func() (mask graph.Expr, p *graph.Program) {
		g := graph.New(graph.Float64, 1)
		x := g.Root().Value("x", graph.Normal(1), 3, h.Width())
		mask = g.Root().Value("mask", graph.Const(0), 3, 3)
		for i := range 9 {
			mask.Tensor().Set(i, math.Inf(-1))
		}
		for i := range 3 {
			mask.Tensor().Set(4*i, 0)
		}
		a, _ := Attention(x, mask, h, 0)
		b, _ := Attention(x.Scale(2), mask, h, 0) // shares the spans of the mask
		return mask, graphtest.Compile(t, a.Add(b))
	}
	mask, p := build()
	graphtest.Run(t, p)
	other, fresh := build()
	for _, m := range []graph.Expr{mask, other} {
		for i := range 9 {
			m.Tensor().Set(i, 0)
		}
	}
	want := graphtest.Run(t, fresh).Value().Floats()
	if got := graphtest.Run(t, p).Value().Floats(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A training loop without SetStep drops different entries in each step: the entries of the steps 0, 1, 2 … of a loop
// that calls SetStep. Evaluation and runs without gradients do not count as steps.
func TestDropoutStepsCountThemselves(t *testing.T) {
	g, numbered := graph.New(graph.Float64, 1), graph.New(graph.Float64, 1)
	masks := func(g *graph.Graph) (run func() []float64, forward *graph.Program) {
		x := g.Root().Param("x", graph.Const(1), 1, 100)
		y := x.Dropout(0.5)
		p := graphtest.Compile(t, y.SumAll(), x)
		return func() []float64 { return graphtest.Run(t, p).Grad(x).Floats() }, graphtest.Compile(t, y)
	}
	run, forward := masks(g)
	numberedRun, _ := masks(numbered)
	for step := range 3 {
		numbered.SetStep(uint64(step))
		got, want := run(), numberedRun()
		graphtest.Close(t, "the step's own mask", got, want, 0)
		graphtest.Close(t, "the mask that the run had", g.DropoutMask("", 0.5, 100), want, 0)
		graphtest.Close(t, "the same without gradients", graphtest.Run(t, forward).Value().Floats(), want, 0)
		graphtest.Close(t, "a step that is held", numberedRun(), want, 0)
		g.SetTraining(false)
		if slices.Contains(run(), 0) {
			t.Error("evaluation drops")
		}
		g.SetTraining(true)
	}
	if a, b := run(), run(); slices.Equal(a, b) {
		t.Error("two steps drop the same entries")
	}
}

// TestRecurrenceNorms: the norm of a state is the norm of the numbers in a cache after the same tokens, in both types,
// also from states before the first token.
func TestRecurrenceNorms(t *testing.T) {
	for dtype, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-13, graph.Float32: 1e-5} {
		for _, delta := range []bool{false, true} {
			h := RecurrenceShape{Batch: 2, Context: 5, Heads: 2, QK: 3, V: 4, Delta: delta}
			operands := func(s graph.Scope, rows int) (x, qkv, gates, beta graph.Expr) {
				x = s.Value("x", graph.Normal(1), rows, 28)
				return x, x.Columns(0, 20), x.Columns(20, 26).Square().Scale(-1), x.Columns(26, 28)
			}
			s := graph.New(dtype, 3).Root()
			all, qkv, gates, beta := operands(s, 10)
			norms, _ := RecurrenceNorms(qkv, gates, beta, graph.Expr{}, h)
			got := graphtest.Values(t, norms)
			cache := NewRecurrenceCache(h)
			s = graph.New(dtype, 4).Root()
			at := s.Ints("at", 1, 6, graph.NoneIgnored)
			x, qkv, gates, beta := operands(s, 2)
			p, err := graph.Compile(CachedRecurrence(qkv, gates, beta, at, cache))
			if err != nil {
				t.Fatal(err)
			}
			for token := range 5 {
				at.Ints()[0] = token
				for b := range 2 {
					for i := range 28 {
						x.Tensor().Set(b*28+i, all.Tensor().At((b*5+token)*28+i))
					}
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				held := cache.floats()
				for i := range 4 { // two heads of two sequences
					squares := 0.0
					for j := range 12 {
						v := graph.Tensor{Shape: []int{48}, F32: held.F32, F64: held.F64}.At(i*12 + j)
						squares += v * v
					}
					v, want := got[(i/2*5+token)*2+i%2], math.Sqrt(squares)
					if !(math.Abs(v-want) <= tolerance*want) {
						t.Errorf(
							"delta rule %t, %v: token %d, head %d: got %v, want %v", delta, dtype, token, i, v, want,
						)
					}
				}
			}
		}
	}
}
