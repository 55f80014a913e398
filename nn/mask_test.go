package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// dilations returns 1, 2, 1, 2 …, as far as the context permits.
func dilations(d Dims) []int {
	out := make([]int, d.Heads)
	for h := range out {
		out[h] = min(d.Context, 1+h%2)
	}
	return out
}

func dilatedTest(d Dims) Dilated {
	return Dilated{Width: 4, Dilation: dilations(d), Global: []int{d.Context / 3}}
}

func biased(rule func(Dims) Visibility) func(at Site, x graph.Expr) graph.Expr {
	return func(at Site, x graph.Expr) graph.Expr {
		at.Mask = NewBiasedMask(at.Sub("other"), at.Dims, rule(at.Dims), NewALiBi(at.Heads))
		return NewSelfAttention(at).Forward(x)
	}
}

func longformerTest(rule func(Dims) Visibility, dropout float64) func(at Site, x graph.Expr) graph.Expr {
	return func(at Site, x graph.Expr) graph.Expr {
		at.Dropout = dropout
		mask := NewMask(at.Sub("other"), at.Dims, rule(at.Dims))
		return NewLongformer(at, NewLongformerMask(at.Scope, mask, dilatedTest(at.Dims))).Forward(x)
	}
}

func causalTest(Dims) Visibility { return Causal{} }

var maskLayerCases = []layerCase{
	{
		"attention in a dilated window per head", "SelfAttention",
		masked(func(d Dims) Visibility { return All{Causal{}, dilatedTest(d)} }),
	},
	{
		"attention per head with padding", "SelfAttention",
		masked(func(d Dims) Visibility { return All{Padding{lengths(d)}, dilatedTest(d)} }),
	},
	{"attention in BigBird's graph", "SelfAttention", masked(func(d Dims) Visibility {
		return All{Causal{}, BigBird{Width: 3, Global: []int{0}, Random: min(2, d.Context), Seed: 3}}
	})},
	{"attention with linear biases", "SelfAttention", biased(causalTest)},
	{
		"attention with linear biases and padding", "SelfAttention",
		biased(func(d Dims) Visibility { return Padding{lengths(d)} }),
	},
	{"longformer", "Longformer", longformerTest(causalTest, 0)},
	{
		"longformer without a causal mask, with dropout", "Longformer",
		longformerTest(func(d Dims) Visibility { return Padding{lengths(d)} }, 0.3),
	},
	{"unprojected attention", "Unprojected", func(at Site, x graph.Expr) graph.Expr {
		if at.Embd%at.Heads != 0 {
			at.Heads = 1
		}
		return NewUnprojected(at).Forward(x)
	}},
	{"unprojected attention with dropout and linear biases", "Unprojected", func(at Site, x graph.Expr) graph.Expr {
		at.Dropout = 0.3
		at.Mask = NewBiasedMask(at.Sub("other"), at.Dims, Causal{}, NewALiBi(at.Heads))
		return NewUnprojected(at).Forward(x)
	}},
	{"unprojected cross-attention", "UnprojectedCross", func(at Site, x graph.Expr) graph.Expr {
		keys := at.Context + 3
		z := at.Param("z", graph.Normal(1), at.Batch*keys, at.Embd)
		m := NewMemory(at.Sub("memory"), z, at.Batch, at.Context, keys, lengths(at.Dims))
		return NewUnprojectedCross(at, m).Forward(x)
	}},
	{"learned positions", "LearnedPositions", func(at Site, x graph.Expr) graph.Expr {
		return NewLearnedPositions(positioned(at, at.Context, 0).At("wpe")).Forward(x)
	}},
	{"sinusoidal positions", "Sinusoidal", func(at Site, x graph.Expr) graph.Expr {
		at = positioned(at, at.Context, 0)
		if at.Embd%2 != 0 { // one feature more
			at.Embd++
			x = x.Join(at.Param("more", graph.Normal(1), at.Batch*at.Context, 1))
		}
		return NewSinusoidal(at, 100).Forward(x)
	}},
}

// meet returns which query attends to which key: a matrix of 0 and 1 for every head, concatenated.
func meet(t *testing.T, d Dims, rule Visibility) []int {
	t.Helper()
	m := NewMask(graph.New(graph.Float64, 1).Root(), d, rule)
	if err := m.Expr().Graph().Err(); err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, v := range m.Expr().Tensor().F64 {
		out = append(out, 1+int(max(v, -1)))
	}
	return out
}

// TestI12Masks: a window of width 1 is the identity, one of width n the causal mask, and the future is hidden (errata
// D8).
func TestI12Masks(t *testing.T) {
	d := Dims{Batch: 1, Context: 9, Heads: 2}
	for name, c := range map[string]struct{ rule, want Visibility }{
		"no sinks":      {Window{2}, SinkWindow{Width: 2}},
		"all are sinks": {Causal{}, SinkWindow{Width: 1, Sinks: 9}},
		"w = 1":         {Window{1}, All{Causal{}, Dilated{Width: 1, Dilation: []int{1, 1}}}},
		"w = n":         {Window{9}, Causal{}},
		"w > n":         {Window{100}, Causal{}},
	} {
		got, want := meet(t, d, c.rule), meet(t, d, c.want)
		if !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	for i, v := range meet(t, d, Window{1}) {
		if want := i/9 == i%9; (v == 1) != want {
			t.Errorf("w = 1: entry %d is %d", i, v)
		}
	}
}

// TestI13BigBirdEdges: at most n(w + r) + 2gn pairs meet, with exactly r more keys than near and global ones if there
// are enough visible keys in the rest of the mask.
func TestI13BigBirdEdges(t *testing.T) {
	for _, random := range []int{0, 1, 3, 8} {
		for name, rest := range map[string]All{"": {}, "causal": {Causal{}}, "window": {Window{20}}} {
			d := Dims{Batch: 1, Context: 60, Heads: 1}
			const n, w, g = 60, 5, 2
			v := BigBird{Width: w, Global: []int{0, 30}, Random: random, Seed: 7}
			got := meet(t, d, append(All{v}, rest...))
			if edges := sum(got); edges > n*(w+random)+2*g*n {
				t.Errorf("%s: %d edges, want at most %d", name, edges, n*(w+random)+2*g*n)
			}
			for i := range n {
				near, visible, visibleKeys := 0, 0, 0
				for j := range n {
					visibleKeys += got[i*n+j]
					if rest.Visible(0, i, j) {
						visible++
						if v.Visible(0, i, j) {
							near++
						}
					} else if got[i*n+j] == 1 {
						t.Errorf("%s: %d attends to %d", name, i, j)
					}
				}
				if want := min(visible, near+random); visibleKeys != want {
					t.Errorf("%s, %d random: query %d attends to %d keys, want %d", name, random, i, visibleKeys, want)
				}
			}
		}
	}
}

// TestI13BigBirdIsReproducible: the keys depend on the seed, and a shorter context draws the same keys under a causal
// mask, so that a decoder attends to the keys of training.
func TestI13BigBirdIsReproducible(t *testing.T) {
	rule := func(n int, seed uint64) []int {
		return meet(t, Dims{Batch: 1, Context: n, Heads: 1}, All{Causal{}, BigBird{Width: 3, Random: 3, Seed: seed}})
	}
	long, again, other, short := rule(50, 1), rule(50, 1), rule(50, 2), rule(20, 1)
	if !slices.Equal(long, again) || slices.Equal(long, other) {
		t.Error("the keys are not those of the seed")
	}
	for i := range 20 {
		if !slices.Equal(long[i*50:i*50+20], short[i*20:(i+1)*20]) {
			t.Errorf("query %d: %v in 50 tokens, %v in 20", i, long[i*50:i*50+20], short[i*20:(i+1)*20])
		}
	}
}

// TestI13FullGraph: with a large width, or if all tokens are global, all attend to all, as in the dense layer.
func TestI13FullGraph(t *testing.T) {
	d := Dims{Batch: 1, Context: 7, Heads: 2}
	everything := span(0, 7)
	for _, rule := range []Visibility{
		BigBird{Width: 13}, BigBird{Width: 1, Global: everything}, BigBird{Width: 1, Random: 7},
		Dilated{Width: 13, Dilation: []int{1, 1}}, Dilated{Width: 1, Dilation: []int{1, 3}, Global: everything},
	} {
		if got := meet(t, d, rule); sum(got) != len(got) {
			t.Errorf("%+v: %v", rule, got)
		}
	}
}

// TestI13Span: through L layers of even width w and dilation δ a token reaches tokens that are at most Lδw + 1 apart,
// counting both ends, and only every δ-th of them (errata C13). L=3, w=4, δ=2: a span of 25 with 13 positions.
func TestI13Span(t *testing.T) {
	const n, layers, width, dilation = 61, 3, 4, 2
	rule := meet(t, Dims{Batch: 1, Context: n, Heads: 1}, Dilated{Width: width, Dilation: []int{dilation}})
	reached := map[int]bool{n / 2: true}
	for range layers {
		next := map[int]bool{}
		for i := range reached {
			for j := range n {
				if rule[i*n+j] == 1 {
					next[j] = true
				}
			}
		}
		reached = next
	}
	first, last := n, 0
	for j := range reached {
		first, last = min(first, j), max(last, j)
	}
	if got := last - first + 1; got != layers*dilation*width+1 || len(reached) != layers*width+1 {
		t.Errorf(
			"a span of %d with %d positions, want %d and %d", got, len(reached), layers*dilation*width+1,
			layers*width+1,
		)
	}
}

// TestI07Slopes: a power of two gives a geometric sequence that ends at 2⁻⁸; otherwise the slopes follow the published
// interpolation.
func TestI07Slopes(t *testing.T) {
	if got, want := NewALiBi(8).Slopes, []float64{
		1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256,
	}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := NewALiBi(6).Slopes, []float64{
		1. / 4, 1. / 16, 1. / 64, 1. / 256, 1. / 2, 1. / 8,
	}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if a := NewALiBi(2); a.Bias(1, 3, 5) != -2./256 || a.Bias(1, 5, 3) != -2./256 || a.Bias(0, 4, 4) != 0 {
		t.Errorf("−m|i−j|: got %v and %v, want %v", a.Bias(1, 3, 5), a.Bias(1, 5, 3), -2./256)
	}
	for heads := 1; heads < 40; heads++ {
		m := NewALiBi(heads).Slopes
		sorted := slices.Sorted(slices.Values(m))
		if len(m) != heads || len(slices.Compact(sorted)) != heads || !(sorted[0] > 0) || !(sorted[heads-1] < 1) {
			t.Errorf("%d heads: %v", heads, m)
		}
	}
}

// TestI07CausalBiasIsThatOfTheKey: under a causal mask −m(i − j) and +mj give the same output, and the last key, at
// distance 0, has no bias.
func TestI07CausalBiasIsThatOfTheKey(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{false, true} {
		run := func(bias Bias) graph.Tensor {
			g := graph.New(graph.Float64, 3)
			g.Kernels = kernels
			at := newSite(g, d)
			at.Mask = NewBiasedMask(at.Sub("other"), d, Causal{}, bias)
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			return output(t, NewSelfAttention(at).Forward(x))
		}
		far, keys, none := run(NewALiBi(d.Heads)), run(keyBias{NewALiBi(d.Heads)}), run(nil)
		if e := distance(far, keys, 0); !(e <= 1e-12) {
			t.Errorf("distance %.2g", e)
		}
		if e := distance(far, none, 0); !(e > 1e-3) {
			t.Errorf("the bias makes a difference of %.2g only", e)
		}
	}
}

// keyBias is the bias +m_h·j.
type keyBias struct{ ALiBi }

func (k keyBias) Bias(head, _, j int) float64 { return k.Slopes[head] * float64(j) }

// TestI12Causality: changing a token leaves everything before it unchanged, bit for bit, also if heads differ, keys are
// drawn, and tokens are global.
func TestI12Causality(t *testing.T) {
	d := Dims{Batch: 2, Context: 12, Embd: 6, Heads: 2, QK: 3, V: 5, Inner: 4, Blocks: 1}
	causalDilated := func(d Dims) Visibility { return All{Causal{}, dilatedTest(d)} }
	bird := func(Dims) Visibility { return All{BigBird{Width: 3, Global: []int{5}, Random: 2}, Causal{}} }
	for name, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"dilated": masked(causalDilated), "bigbird": masked(bird), "alibi": biased(causalTest),
		"longformer":  longformerTest(causalTest, 0),
		"unprojected": func(at Site, x graph.Expr) graph.Expr { return NewUnprojected(at).Forward(x) },
	} {
		for _, kernels := range []bool{false, true} {
			g := graph.New(graph.Float32, 3)
			g.Kernels = kernels
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			y := build(newSite(g, d), x)
			before := output(t, y)
			const token = 7
			for j := range d.Embd {
				x.Tensor().Set(token*d.Embd+j, 3)
			}
			after := output(t, y)
			for i := range before.Len() {
				row := i / d.Embd
				if row < token && math.Float64bits(before.At(i)) != math.Float64bits(after.At(i)) {
					t.Fatalf("%s, kernels %t: entry %d of token %d has changed", name, kernels, i%d.Embd, row)
				}
			}
			if slices.Equal(before.F32[token*d.Embd:(token+1)*d.Embd], after.F32[token*d.Embd:(token+1)*d.Embd]) {
				t.Errorf("%s, kernels %t: the token itself is as before", name, kernels)
			}
		}
	}
}

// TestMaskErrorsPerHead: sizes that do not fit are errors.
func TestMaskErrorsPerHead(t *testing.T) {
	d := Dims{Batch: 2, Context: 4, Heads: 3}
	for _, c := range []struct {
		rule Visibility
		bias Bias
		want string
	}{
		{
			SinkWindow{Width: 0, Sinks: 1}, nil,
			"h.0.mask: a window of 0 tokens: at least 1, the token itself, is needed",
		},
		{SinkWindow{Width: 1, Sinks: 5}, nil, "h.0.mask: 5 first tokens that stay visible, not in 0 … 4"},
		{SinkWindow{Width: 1, Sinks: -1}, nil, "h.0.mask: -1 first tokens that stay visible, not in 0 … 4"},
		{
			Dilated{Width: 0, Dilation: []int{1, 1, 1}}, nil,
			"h.0.mask: a window of 0 tokens: at least 1, the token itself, is needed",
		},
		{Dilated{Width: 3, Dilation: []int{1, 1}}, nil, "h.0.mask: 2 dilations for 3 heads"},
		{Dilated{Width: 3, Dilation: []int{1, 0, 1}}, nil, "h.0.mask: head 1 has dilation 0, not in 1 … 4"},
		{Dilated{Width: 3, Dilation: []int{1, 1, 5}}, nil, "h.0.mask: head 2 has dilation 5, not in 1 … 4"},
		{
			Dilated{Width: 3, Dilation: []int{1, 1, 1}, Global: []int{4}}, nil,
			"h.0.mask: global token 4 is not in 0 … 3",
		},
		{BigBird{Width: -1}, nil, "h.0.mask: a window of -1 tokens: at least 1, the token itself, is needed"},
		{BigBird{Width: 3, Global: []int{0, -1}}, nil, "h.0.mask: global token -1 is not in 0 … 3"},
		{All{BigBird{Width: 3, Random: -1}}, nil, "h.0.mask: -1 random keys, not in 0 … 4"},
		{BigBird{Width: 3, Random: 5}, nil, "h.0.mask: 5 random keys, not in 0 … 4"},
		{
			All{Dilated{Width: 1, Dilation: []int{1, 1, 2}}, odd{}}, nil,
			"h.0.mask: query 0 of sequence 0 attends to no key in head 1",
		},
		{Causal{}, NewALiBi(2), "h.0.mask: 2 slopes for 3 heads"},
	} {
		g := graph.New(graph.Float64, 1)
		NewBiasedMask(g.Root().Sub("h.0"), d, c.rule, c.bias).Expr()
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%T %+v: got %v, want %s", c.rule, c.rule, err, c.want)
		}
	}
}

// odd lets head 1 attend only to odd keys.
type odd struct{}

func (odd) Visible(b, i, j int) bool         { return true }
func (odd) VisibleTo(head, _, _, j int) bool { return head != 1 || j%2 == 1 }

// TestPositionErrors: invalid positions are errors.
func TestPositionErrors(t *testing.T) {
	d := Dims{Batch: 2, Context: 3, Embd: 7, Heads: 2, QK: 2, V: 2}
	for want, build := range map[string]func(at Site){
		"h.0.pos: 7 features: waves come in pairs, so 6 or 8 are needed": func(at Site) { NewSinusoidal(at, 1e4) },
		"h.0.pos: base 0: a number greater than 0 is needed, such as 10000": func(at Site) {
			at.Embd = 6
			NewSinusoidal(at, 0)
		},
		"h.0.pos: no positions: the site must give the positions of the 6 tokens": func(at Site) {
			at.Positions = graph.Expr{}
			NewLearnedPositions(at)
		},
		"h.0.pos: 2 heads do not divide 7 features": func(at Site) { NewUnprojected(at) },
		"h.0.pos.longformer: the underlying mask is invalid": func(at Site) {
			NewLongformerMask(at.Scope, &Mask{dims: d}, Dilated{})
		},
		"h.0.pos.longformer: 1 dilations for 2 heads": func(at Site) {
			NewLongformerMask(
				at.Scope, at.Mask, Dilated{Width: 1, Dilation: []int{1}},
			)
		},
		"h.0.pos.longformer: query 0 of sequence 0 attends to no key in head 0": func(at Site) {
			NewLongformerMask(
				at.Scope, blind(at), Dilated{Width: 1, Dilation: []int{1, 1}},
			)
		},
	} {
		g := graph.New(graph.Float64, 1)
		at := positioned(newSite(g, d), d.Context, 0)
		build(at.At("pos"))
		if err := g.Err(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// blind returns a mask under which no token attends to itself.
func blind(at Site) *Mask { return NewMask(at.Sub("blind"), at.Dims, notSelf{}) }

type notSelf struct{}

func (notSelf) Visible(_, i, j int) bool { return i != j }

// BenchmarkMask measures the construction of a mask for 2048 tokens.
func BenchmarkMask(b *testing.B) {
	d := Dims{Batch: 1, Context: 2048, Heads: 4}
	for _, rule := range []Visibility{
		Causal{}, All{Causal{}, BigBird{Width: 65, Global: []int{0}, Random: 3}},
		All{Causal{}, Dilated{Width: 65, Dilation: []int{1, 1, 2, 2}, Global: []int{0}}},
	} {
		b.Run(fmt.Sprintf("%T", rule), func(b *testing.B) {
			for b.Loop() {
				NewMask(graph.New(graph.Float32, 1).Root(), d, rule).Expr()
			}
		})
	}
}

// TestStepPerHead: decoding with a cache attends to the keys of training, also if heads differ, keys are drawn and
// scores have biases.
func TestStepPerHead(t *testing.T) {
	for _, d := range shapes[:2] {
		for name, rule := range map[string]Visibility{
			"dilated": All{Causal{}, dilatedTest(d)},
			"bigbird": All{Causal{}, BigBird{Width: 1, Global: []int{2}, Random: 1}},
		} {
			t.Run(fmt.Sprintf("%s/%+v", name, d), func(t *testing.T) {
				stepEqualsForward(t, rule, d, func(at Site) Cached { return NewSelfAttention(at) })
			})
		}
		t.Run(fmt.Sprintf("alibi/%+v", d), func(t *testing.T) {
			stepEqualsForward(t, Causal{}, d, func(at Site) Cached {
				at.Mask = NewBiasedMask(at.Sub("biased"), at.Dims, Causal{}, NewALiBi(at.Heads))
				return NewSelfAttention(at)
			})
		})
	}
}

// TestI13LongformerIsDense: without global tokens, and with windows that cover everything, it is causal attention with
// the local projections; with only global tokens it uses the global projections.
func TestI13LongformerIsDense(t *testing.T) {
	d := shapes[0]
	all := Dilated{Width: 2 * d.Context, Dilation: []int{1, 1}}
	everything := Dilated{Width: 1, Dilation: []int{1, 1}, Global: span(0, d.Context)}
	for name, c := range map[string]struct {
		rule Dilated
		from string
	}{"windows": {all, "c_attn"}, "global": {everything, "c_attn_global"}} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 3)
			g.Kernels = kernels
			at := newSite(g, d)
			x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
			long := NewLongformer(at.At("long"), NewLongformerMask(at.Scope, at.Mask, c.rule))
			dense := NewSelfAttention(at.At("dense"))
			got := long.Forward(x)
			params := map[string]graph.Tensor{}
			for _, p := range g.Params() {
				params[p.Name()] = p.Tensor()
			}
			copy(params["h.0.dense.c_attn.weight"].F64, params["h.0.long."+c.from+".weight"].F64)
			copy(params["h.0.dense.c_proj.weight"].F64, params["h.0.long.c_proj.weight"].F64)
			if e := distance(output(t, got), output(t, dense.Forward(x)), 0); !(e <= 1e-12) {
				t.Errorf("%s, kernels %t: distance %.2g", name, kernels, e)
			}
		}
	}
}

// TestLongformerMaskUpdate: keys that the other mask newly hides are hidden here too.
func TestLongformerMaskUpdate(t *testing.T) {
	d := Dims{Batch: 2, Context: 4, Heads: 2}
	lengths := []int{4, 4}
	s := graph.New(graph.Float64, 1).Root()
	mask := NewMask(s, d, All{Causal{}, Padding{lengths}})
	m := NewLongformerMask(s, mask, Dilated{Width: 9, Dilation: []int{1, 1}, Global: []int{0}})
	visible := func() (n int) {
		for _, v := range m.expr.Tensor().F64 {
			if v == 0 {
				n++
			}
		}
		return n
	}
	before := visible()
	lengths[1] = 2
	for _, update := range []func() error{mask.Update, m.Update} {
		if err := update(); err != nil {
			t.Fatal(err)
		}
	}
	if after := visible(); before != 4*10 || after != 2*10+2*7 { // one key of each pair
		t.Errorf("%d pairs meet, then %d, want 40 and 34", before, after)
	}
}

// Every set of keys is drawn about equally often: of three keys, each pair is drawn in a third of the cases.
func TestBigBirdDrawsEveryPair(t *testing.T) {
	d, count := Dims{Batch: 1, Context: 4, Heads: 1}, map[[2]int]int{}
	for seed := range uint64(300) {
		keys := slices.Clone(BigBird{Width: 1, Random: 2, Seed: seed}.drawing(nil, d).random(0, 0))
		slices.Sort(keys)
		count[[2]int(keys)]++
	}
	for _, pair := range [][2]int{{1, 2}, {1, 3}, {2, 3}} {
		if n := count[pair]; n < 70 || n > 130 {
			t.Errorf("keys %v are drawn %d times of 300, want about 100", pair, n)
		}
	}
}

// A head without a dilation sees only the global tokens.
func TestDilatedHeadsThatAreNot(t *testing.T) {
	v := Dilated{Width: 3, Dilation: []int{1, 2}, Global: []int{5}}
	for head, sees := range map[int]bool{-1: false, 0: true, 1: false, 2: false, 7: false} {
		if v.VisibleTo(head, 0, 2, 1) != sees || !v.VisibleTo(head, 0, 2, 5) {
			t.Errorf("head %d: token 1 is visible: %t, token 5: %t", head, !sees, v.VisibleTo(head, 0, 2, 5))
		}
	}
}

// secondHalf hides everything from the first queries.
type secondHalf struct{}

func (secondHalf) Visible(_, i, j int) bool { return i >= 2 && j <= i }

func TestMaskErrors(t *testing.T) {
	d := Dims{Batch: 2, Context: 4}
	for _, c := range []struct {
		rule Visibility
		want string
	}{
		{secondHalf{}, "h.0.mask: query 0 of sequence 0 attends to no key"},
		{All{Causal{}, secondHalf{}}, "h.0.mask: query 0 of sequence 0 attends to no key"},
		{All{Window{2}, Padding{[]int{4, 2}}}, "h.0.mask: query 3 of sequence 1 attends to no key"},
		{Window{0}, "h.0.mask: a window of 0 tokens: at least 1, the token itself, is needed"},
		{All{Causal{}, Window{-3}}, "h.0.mask: a window of -3 tokens: at least 1, the token itself, is needed"},
		{Padding{[]int{4}}, "h.0.mask: 1 lengths for a batch of 2"},
		{Padding{nil}, "h.0.mask: 0 lengths for a batch of 2"},
		{Padding{[]int{4, 0}}, "h.0.mask: sequence 1 has length 0, not in 1 … 4"},
		{All{Causal{}, All{Padding{[]int{5, 4}}}}, "h.0.mask: sequence 0 has length 5, not in 1 … 4"},
	} {
		g := graph.New(graph.Float64, 1)
		NewMask(g.Root().Sub("h.0"), d, c.rule).Expr()
		if err := g.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%T %v: got %v, want %s", c.rule, c.rule, err, c.want)
		}
	}
}

// TestMaskUpdate: new lengths give other numbers; wrong lengths are an error and leave the old numbers.
func TestMaskUpdate(t *testing.T) {
	lengths := []int{3, 1}
	d := Dims{Batch: 2, Context: 3}
	m := NewMask(graph.New(graph.Float64, 1).Root().Sub("encoder"), d, All{Causal{}, Padding{lengths}})
	visible := func() (n int) {
		for _, v := range m.Expr().Tensor().F64 {
			if v == 0 {
				n++
			} else if !math.IsInf(v, -1) {
				t.Errorf("an entry is %v", v)
			}
		}
		return n
	}
	if got := visible(); got != 6+3 {
		t.Errorf("%d entries are visible, want 9", got)
	}
	lengths[1] = 2
	if err := m.Update(); err != nil {
		t.Error(err)
	}
	if got := visible(); got != 6+5 {
		t.Errorf("%d entries are visible, want 11", got)
	}
	lengths[1] = 4
	if err := m.Update(); err == nil || err.Error() != "encoder.mask: sequence 1 has length 4, not in 1 … 3" {
		t.Errorf("got %v", err)
	}
	if got := visible(); got != 6+5 {
		t.Errorf("after the error %d entries are visible, want 11", got)
	}
}

// reach lets a token attend to those before it and to the next n.
type reach struct{ n int }

func (r *reach) Visible(_, i, j int) bool { return j <= i+r.n }

// TestUpdateLooksAgain: a mask that is no longer causal after an Update is refused when tokens come one at a time.
func TestUpdateLooksAgain(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	rule := &reach{0}
	m := NewMask(g.Root(), Dims{Batch: 1, Context: 4}, rule)
	if m.requireCausal(g.Root()); g.Err() != nil {
		t.Fatal(g.Err())
	}
	rule.n = 1
	if err := m.Update(); err != nil {
		t.Fatal(err)
	}
	m.requireCausal(g.Root())
	if err := g.Err(); err == nil || err.Error() != "one token at a time: query 0 attends to the later key 1" {
		t.Errorf("got %v", err)
	}
}

// TestRandomKeysPerSequence: random keys are drawn from the keys that the padding of each sequence leaves, so every
// query has all of its keys.
func TestRandomKeysPerSequence(t *testing.T) {
	lengths := []int{9, 4}
	m := NewMask(graph.New(graph.Float64, 1).Root(), Dims{Batch: 2, Context: 9},
		All{Padding{lengths}, BigBird{Width: 1, Random: 2, Seed: 5}})
	numbers := m.Expr().Tensor()
	for row := range 2 * 9 {
		n, i, visible := lengths[row/9], row%9, 0
		for j := range 9 {
			if numbers.At(row*9+j) == 0 {
				visible++
				if j >= n {
					t.Errorf("query %d of sequence %d attends to padding %d", i, row/9, j)
				}
			}
		}
		want := 2
		if i < n {
			want++ // itself
		}
		if visible != want {
			t.Errorf("query %d of sequence %d attends to %d keys, want %d", i, row/9, visible, want)
		}
	}
}

// The window of a mask is the narrowest of its rules; a mask of other rules has none.
func TestMaskWindow(t *testing.T) {
	g := graph.New(graph.Float64, 1)
	for i, tc := range []struct {
		rule         Visibility
		width, first int
	}{
		{Causal{}, 0, 0}, {Window{3}, 3, 0}, {SinkWindow{4, 2}, 4, 2}, {All{Causal{}, Window{3}}, 3, 0}, {All{}, 0, 0},
		{All{All{Window{5}, SinkWindow{3, 1}}, Window{4}}, 3, 1},
		{All{Window{2}, SinkWindow{3, 1}}, 2, 0}, {All{Causal{}, BigBird{Width: 3}}, 0, 0},
	} {
		m := NewMask(g.Root().Sub("%d", i), Dims{Batch: 1, Context: 6, Heads: 1}, tc.rule)
		if width, first, ok := m.window(); width != tc.width || first != tc.first || ok != (tc.width > 0) {
			t.Errorf("%+v: got %d tokens and the first %d, %t", tc.rule, width, first, ok)
		}
	}
	if _, _, ok := (*Mask)(nil).window(); ok {
		t.Error("no mask has a window")
	}
}

// TestALiBiCheck: the slopes must be as many as the heads, and finite.
func TestALiBiCheck(t *testing.T) {
	for _, c := range []struct {
		slopes []float64
		want   string
	}{
		{[]float64{0.5, 0}, ""}, {nil, "0 slopes for 2 heads"}, {[]float64{1, 2, 3}, "3 slopes for 2 heads"},
		{[]float64{math.NaN(), 1}, "slope NaN of head 0 is not finite"},
		{[]float64{1, math.Inf(1)}, "slope +Inf of head 1 is not finite"},
		{[]float64{1, math.Inf(-1)}, "slope -Inf of head 1 is not finite"},
	} {
		err := ALiBi{c.slopes}.Check(Dims{Heads: 2})
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%v: got error %v, want %q", c.slopes, err, c.want)
		}
	}
}

// TestPaddingOutside: no key of a sequence that does not exist is visible.
func TestPaddingOutside(t *testing.T) {
	p := Padding{[]int{3, 2}}
	for b, want := range map[int]int{-1: 0, 0: 3, 1: 2, 2: 0} {
		if from, to := p.keys(b, 1); from != 0 || to != want {
			t.Errorf("sequence %d: got keys %d … %d, want 0 … %d", b, from, to, want)
		}
	}
}

// countedRule is Causal for each sequence. It counts the pairs that it is asked for, by the sequence.
type countedRule map[int]int

func (c countedRule) Visible(b, i, j int) bool { c[b]++; return j <= i }
func (countedRule) PerSequence() bool          { return true }

// TestLaterToken looks at every later key of every sequence once, and at no other pair.
func TestLaterToken(t *testing.T) {
	d := Dims{Batch: 3, Context: 5, Embd: 4, Heads: 2, QK: 2, V: 2}
	rule := countedRule{}
	m := NewMask(graph.New(graph.Float64, 1).Root(), d, rule)
	m.Expr()
	clear(rule)
	if got := m.laterToken(); got != [2]int{} || !maps.Equal(rule, countedRule{0: 10, 1: 10, 2: 10}) {
		t.Errorf("got %v after looking at %v pairs, want none after 10 of each sequence", got, rule)
	}
}

// skipping lets a query attend to the token after the next one, too.
type skipping struct{}

func (skipping) Visible(_, i, j int) bool { return j <= i || j == i+2 }

// TestLaterTokenOfSkipping: the later token is the one that is visible, not the next one.
func TestLaterTokenOfSkipping(t *testing.T) {
	m := NewMask(graph.New(graph.Float64, 1).Root(), Dims{Batch: 1, Context: 5, Heads: 1}, skipping{})
	if got := m.laterToken(); got != [2]int{0, 2} {
		t.Errorf("got query %d and token %d, want 0 and 2", got[0], got[1])
	}
}

// TestCapIsANumber: a cap of the scores is 0 or a finite number above.
func TestCapIsANumber(t *testing.T) {
	for limit, ok := range map[float64]bool{0: true, 1e300: true, -1: false, math.Inf(1): false, math.NaN(): false} {
		g := graph.New(graph.Float64, 1)
		at := newSite(g, shapes[0])
		at.Cap = limit
		if got := at.limit(); (g.Err() == nil) != ok || ok && got != limit {
			t.Errorf("a cap of %v: got %v and error %v", limit, got, g.Err())
		}
	}
}
