package gpt

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
)

// mixing adds a mixture of all rows of the batch to the rows of x: row j contributes to row i.
type mixing struct {
	nn.Layer
	matrix graph.Expr
}

func newMixing(at nn.Site, l nn.Layer, share func(i, j int) bool) nn.Layer {
	n := at.Batch * at.Context
	return mixing{l, at.Value("shares", func(k int, _ *rand.Rand) float64 {
		if share(k/n, k%n) {
			return 1
		}
		return 0
	}, n, n)}
}

func (l mixing) Forward(x graph.Expr) graph.Expr {
	y := l.Layer.Forward(x)
	return y.Add(l.matrix.MatMul(y))
}

// symmetric lets every token see those at most 2 positions away, on both sides.
type symmetric struct{}

func (symmetric) Visible(_, i, j int) bool { return max(i-j, j-i) <= 2 }

// lookingAhead returns user-defined parts that look ahead, by their fault. Each has the name "own".
func lookingAhead(c Config) map[string]struct {
	change      func(c *Config)
	layer, sees string
} {
	type kind = struct {
		change      func(c *Config)
		layer, sees string
	}
	t := c.BlockSize
	ownText := func(i, j int) bool { return i/t == j/t }
	otherText := func(i, j int) bool { return i%t == j%t && i != j }
	next := func(i, j int) bool { return ownText(i, j) && j == i+1 }
	all, later := "token 0 sees later tokens of its text, 1–7", "token 0 sees later tokens of its text, 1:"
	mlp := func(share func(i, j int) bool) func(c *Config) {
		return func(c *Config) {
			c.MLP, c.Parts.MLPs = "own", []parts.MLP{{Name: "own", New: func(at nn.Site) nn.Layer { return newMixing(at, nn.NewMLP(at), share) }}}
		}
	}
	return map[string]kind{
		"attention with a symmetric mask": {func(c *Config) {
			c.Attention, c.Parts.Attentions = "own", []parts.Attention{{Name: "own", New: func(root nn.Site, _ parts.Stack) nn.Attention {
				mask := nn.NewMask(root.Sub("own"), root.Dims, symmetric{})
				return func(at nn.Site) nn.Layer { at.Mask = mask; return nn.NewSelfAttention(at) }
			}}}
		}, "h.0.attn.heads", "token 0 sees later tokens of its text, 1–2"},
		"an MLP with a mean over the text":  {mlp(ownText), "h.0.mlp", all},
		"an MLP with a mean over the batch": {mlp(otherText), "h.0.mlp", "sees another text of the batch, its tokens 0"},
		"a norm over the text": {func(c *Config) {
			c.Norm, c.Parts.Norms = "own", []parts.Norm{{Name: "own", New: func(at nn.Site) nn.Layer { return newMixing(at, nn.NewLayerNorm(at), ownText) }}}
		}, "h.0.ln_1", all},
		"a position": {func(c *Config) {
			c.Position, c.Parts.Positions = "own", []parts.Position{{Name: "own", New: func(at nn.Site, _ parts.Stack) nn.Placement {
				return nn.Placement{Layer: newMixing(at, nn.NewLearnedPositions(at.At("wpe")), next)}
			}}}
		}, "position", later},
		"a head": {func(c *Config) {
			c.Head, c.Parts.Heads = "own", []parts.Head{{Name: "own", New: func(at nn.Site, _ int, wte *nn.Embedding) nn.Layer {
				return newMixing(at, nn.NewTied(at.Scope, wte), next)
			}}}
		}, "lm_head", later},
		"a block": {func(c *Config) {
			c.Block, c.Parts.Blocks = "own", []parts.Block{{Name: "own", Final: true, New: func(at nn.Site, a nn.Attention) nn.Layer { return newMixing(at, nn.NewBlock(at, a), next) }}}
		}, "h.0", later},
	}
}

// honest returns a registry in which each part with the name "own" is the library's default.
func honest() parts.Registry {
	l := parts.Library()
	r := parts.Registry{Positions: l.Positions[:1], Attentions: l.Attentions[:1], Norms: l.Norms[:1], Blocks: l.Blocks[:1], MLPs: l.MLPs[:1], Heads: l.Heads[2:3]}
	r.Positions[0].Name, r.Attentions[0].Name, r.Norms[0].Name, r.Blocks[0].Name, r.MLPs[0].Name, r.Heads[0].Name = "own", "own", "own", "own", "own", "own"
	return r
}

// ownHonest returns tiny with a user-defined part of every kind, none of which looks ahead.
func ownHonest() Config {
	c := tiny()
	c.Position, c.Attention, c.Norm, c.Block, c.MLP, c.Head, c.Parts = "own", "own", "own", "own", "own", "own", honest()
	return c
}

// leaking returns ownHonest with one of the parts that look ahead.
func leaking(change func(c *Config)) Config {
	c := ownHonest()
	c.Parts = parts.Registry{}
	change(&c)
	h := honest()
	c.Parts = parts.Registry{
		Positions: append(c.Parts.Positions, h.Positions...), Attentions: append(c.Parts.Attentions, h.Attentions...),
		Norms: append(c.Parts.Norms, h.Norms...), Blocks: append(c.Parts.Blocks, h.Blocks...),
		MLPs: append(c.Parts.MLPs, h.MLPs...), Heads: append(c.Parts.Heads, h.Heads...),
	}
	return c
}

// A user-defined part that looks ahead is refused with the name of the layer, in kernels and in the reference form,
// when a run begins, resumes or is fine-tuned, when a checkpoint is opened, and when a decoder is built.
func TestLookingAheadIsRefused(t *testing.T) {
	run := newTrainer(t, ownHonest())
	cp := saved(t, 0, files(t, run))
	for name, part := range lookingAhead(tiny()) {
		want := []string{part.layer + ": ", part.sees}
		for _, kernels := range []bool{true, false} {
			c := leaking(part.change)
			c.Kernels = kernels
			_, err := NewTrainer(c, run.Corpus, run.Tokenizer)
			var leak *causal.Leak
			if !errors.As(err, &leak) {
				t.Errorf("%s: got %v, want a leak", name, err)
				continue
			}
			mustContain(t, err, append(want, "trainer: ")...)
		}
		c := leaking(part.change)
		_, err := Resume(c, run.Corpus, run.Tokenizer, cp)
		mustContain(t, err, want...)
		_, err = LoadModel(emptyGraph(), cp, c.Parts)
		mustContain(t, err, append(want, "checkpoint "+cp.Path)...)
		_, _, err = Open(cp.Path, c.Parts)
		mustContain(t, err, want...)
		c.LoraR = 2
		_, err = FineTune(c, run.Corpus, run.Tokenizer, cp)
		mustContain(t, err, want...)
		c.LoraR, c.VocabSize = 0, run.Config().VocabSize
		m, err := New(emptyGraph(), c, 1)
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = NewDecoder(m, 1)
		mustContain(t, err, append(want, "decoder: ")...)
	}
	if _, err := LoadModel(emptyGraph(), cp, honest()); err != nil {
		t.Errorf("honest parts: got %v", err)
	}
}

// With a Registry that is Bidirectional, a model may look at later tokens and train, but not look from one text into
// another, and it does not decode.
func TestBidirectional(t *testing.T) {
	for name, part := range lookingAhead(tiny()) {
		c := tiny()
		part.change(&c)
		c.Parts.Bidirectional = true
		run := newTrainer(t, tiny())
		trainer, err := NewTrainer(c, run.Corpus, run.Tokenizer)
		if strings.Contains(name, "batch") {
			mustContain(t, err, part.layer, part.sees)
			continue
		}
		if err != nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		if _, err := LoadModel(emptyGraph(), saved(t, 0, files(t, trainer)), c.Parts); err != nil {
			t.Errorf("%s: got %v", name, err)
		}
		_, err = NewDecoder(trainer.Model, 1)
		mustContain(t, err, part.layer+": ", part.sees)
	}
}

// dormant looks ahead through a matrix that begins at 0.
type dormant struct {
	mixing
	gain graph.Expr
}

func (l dormant) Forward(x graph.Expr) graph.Expr {
	return l.Layer.Forward(x).Add(l.matrix.MatMul(x).Mul(l.gain))
}

// A part that looks ahead through a weight that begins at 0, or through an adapter, is refused before training. A part
// that is not finite with noise on its weights is checked with the first ones.
func TestHiddenLookingAhead(t *testing.T) {
	run := newTrainer(t, tiny())
	own := func(l func(at nn.Site) nn.Layer) (c Config) {
		c = tiny()
		c.MLP, c.Parts.MLPs = "own", []parts.MLP{{Name: "own", New: l}}
		return c
	}
	ahead := func(at nn.Site) mixing {
		return newMixing(at, nn.NewMLP(at), func(i, j int) bool { return i/at.Context == j/at.Context }).(mixing)
	}
	for name, l := range map[string]func(at nn.Site) nn.Layer{
		"zero": func(at nn.Site) nn.Layer { return dormant{ahead(at), at.Param("gain", graph.Const(0), at.Embd)} },
		"logarithm": func(at nn.Site) nn.Layer {
			l := dormant{ahead(at), at.Param("gain", graph.Const(1), at.Embd)}
			l.gain = l.gain.Shift(-0.999).Log() // of a negative number with noise
			return l
		},
	} {
		_, err := NewTrainer(own(l), run.Corpus, run.Tokenizer)
		if err == nil {
			t.Errorf("%s: got no error", name)
			continue
		}
		mustContain(t, err, "h.0.mlp: token 0 sees later tokens of its text, 1–7")
	}
}

// The check does not change a run, does not apply to the library's parts, and has the same result every time.
func TestCausalCheckLeavesNoTrace(t *testing.T) {
	c := tiny()
	c.Dropout = 0.3
	plain := newTrainer(t, c)
	want := steps(t, plain, 3)
	c.MLP, c.Parts = "own", honest()
	own := newTrainer(t, c)
	for i, p := range steps(t, own, 3) {
		if p.Loss != want[i].Loss {
			t.Errorf("step %d: got loss %v, want %v as without the check", i, p.Loss, want[i].Loss)
		}
	}
	sameWeights(t, own.Model, plain.Model)
	if c.MLP = ""; c.planned().hasOwn() {
		t.Error("a configuration that names no part of its own has some")
	}
}

// replacing has the Step of an embedded layer and another Forward.
type replacing struct {
	nn.Cached
	forward func(x graph.Expr) graph.Expr
}

func (r replacing) Forward(x graph.Expr) graph.Expr { return r.forward(x) }

// withOwn returns odd with the given context, and with every attention wrapped by change.
func withOwn(context int, change func(at nn.Site, l nn.Layer) nn.Layer) Config {
	c := odd()
	c.BlockSize = context
	for _, a := range parts.Attentions() {
		library := a.New
		a.New = func(root nn.Site, s parts.Stack) nn.Attention {
			build := library(root, s)
			return func(at nn.Site) nn.Layer { return change(at, build(at)) }
		}
		c.Parts.Attentions = append(c.Parts.Attentions, a)
	}
	return c
}

// A replaced Forward with an inherited Step is an error that names the first such layer, for any length of the context,
// and even if only the second block has it.
func TestDecoderComparesStepWithForward(t *testing.T) {
	second := func(change func(l nn.Cached) func(x graph.Expr) graph.Expr) func(nn.Site, nn.Layer) nn.Layer {
		return func(at nn.Site, l nn.Layer) nn.Layer {
			if at.Block == 1 {
				return replacing{l.(nn.Cached), change(l.(nn.Cached))}
			}
			return l
		}
	}
	scaled := func(l nn.Cached) func(x graph.Expr) graph.Expr {
		return func(x graph.Expr) graph.Expr { return l.Forward(x).Scale(1.01) }
	}
	other := func(l nn.Cached) func(x graph.Expr) graph.Expr {
		return func(x graph.Expr) graph.Expr { return x }
	}
	more := func(l nn.Cached) func(x graph.Expr) graph.Expr {
		return func(x graph.Expr) graph.Expr { return l.Forward(x).Shift(1) }
	}
	picky := func(at nn.Site, l nn.Layer) nn.Layer { // cannot be built for few tokens
		if at.Context < 20 {
			at.Failf("%d tokens", at.Context)
		}
		return second(scaled)(at, l)
	}
	late := func(at nn.Site, l nn.Layer) nn.Layer { // from token 20 on, as with a window
		behind := at.Value("late", func(i int, _ *rand.Rand) float64 { return float64(i % at.Context / 20) }, at.Batch*at.Context, 1)
		return second(func(l nn.Cached) func(x graph.Expr) graph.Expr {
			return func(x graph.Expr) graph.Expr { y := l.Forward(x); return y.Add(y.Mul(behind)) }
		})(at, l)
	}
	block := withOwn(7, func(_ nn.Site, l nn.Layer) nn.Layer { return l })
	block.Parts.Blocks = []parts.Block{{Name: "pre", Final: true, New: func(at nn.Site, a nn.Attention) nn.Layer {
		b := nn.NewBlock(at, a)
		return replacing{b, func(x graph.Expr) graph.Expr { return b.Forward(x).Add(x) }}
	}}}
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"scaled":             {withOwn(7, second(scaled)), "h.1.attn"},
		"of a long context":  {withOwn(40, second(scaled)), "h.1.attn"},
		"more everywhere":    {withOwn(7, second(more)), "h.1.attn"},
		"of one token":       {withOwn(1, second(scaled)), "h.1.attn"},
		"something else":     {withOwn(8, second(other)), "h.1.attn"},
		"no few tokens":      {withOwn(21, picky), "h.1.attn"},
		"from token 20 on":   {withOwn(40, late), "h.1.attn"},
		"a block of our own": {block, "h.0"},
	} {
		for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
			m, err := New(graph.New(dtype, 1), tc.c, 2)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err = NewDecoder(m, 1)
			mustContain(t, err, "decoder: "+tc.want+": Step and Forward differ: token ", "by Step, ", " by Forward")
			_, err = NewDecoder(m, 3)
			mustContain(t, err, "decoder: "+tc.want+": Step and Forward differ")
		}
	}
}

// User-defined parts that compute the same in steps as at once decode, in either type and form; so do parts that depend
// on the context's length.
func TestDecoderTakesOwnParts(t *testing.T) {
	compared := 0
	for i, a := range parts.Attentions() {
		if a.Name == "linformer" || testing.Short() && i%3 > 0 {
			continue
		}
		for j, position := range parts.Names(parts.Positions()) {
			if (i+j)%4 > 0 { // so that every attention and every position is there
				continue
			}
			c := withOwn(23, func(_ nn.Site, l nn.Layer) nn.Layer { return l })
			c.Attention, c.Position, c.QKSize = a.String(), position, 4
			if c.suit(); c.ValidateModel() != nil {
				continue // positions that the attention refuses
			}
			dtype := []graph.Dtype{graph.Float32, graph.Float64}[compared%2]
			compared++
			g := graph.New(dtype, 1)
			g.Kernels = j%2 == 0
			m, err := New(g, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			scramble(m.Params(), 3)
			m.Config.Parts.Blocks = parts.Blocks()
			if _, err := NewDecoder(m, 1); err != nil {
				t.Errorf("%s, %s, %v: %v", a, position, dtype, err)
			}
		}
	}
	if compared < 10 {
		t.Errorf("compared %d models, want 10 or more", compared)
	}
	wholeOnly := func(at nn.Site, l nn.Layer) nn.Layer {
		at.Param("whole", graph.Normal(1), at.Context) // no other length fits the parameter
		return l
	}
	if _, err := NewDecoder(model64(t, withOwn(23, wholeOnly), true, 1), 1); err != nil {
		t.Errorf("a parameter of the context's length: %v", err)
	}
}

// BenchmarkNewDecoder measures building a decoder of GPT-2's sizes, and comparing its layers.
func BenchmarkNewDecoder(b *testing.B) {
	for name, own := range map[string]parts.Registry{
		"library": {}, "own attention": {Attentions: parts.Attentions()}, "own block": {Blocks: parts.Blocks()},
	} {
		b.Run(name, func(b *testing.B) {
			c := untiedGPT2()
			c.Parts = own
			m, err := New(graph.New(graph.Float32, 1), c, 1)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := NewDecoder(m, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// byPosition multiplies an activation by a factor that depends on the token's position, in Forward and in Step.
func byPosition(c Config) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		width := x.Shape()[1]
		numbers := make([]float64, c.BlockSize*width)
		for i := range numbers {
			numbers[i] = 1 + math.Sin(float64(i))/2
		}
		if at, ok := x.Graph().Rows(); ok {
			return x.MulAddAt(at, numbers, make([]float64, len(numbers)))
		}
		return x.MulAdd(slices.Repeat(numbers, x.Shape()[0]/c.BlockSize), []float64{0})
	}
}

// A decoder of a model with edits processes only the newest tokens if all edits use the graph's rows and are at places
// that exist in a step; otherwise it processes full contexts. It returns the results of Forward.
func TestDecoderOfEdits(t *testing.T) {
	for _, a := range parts.Attentions() {
		c := tiny()
		c.VocabSize, c.Attention = 11, string(a.Name)
		c.Options.Offer("window", 3)
		if strings.Contains(c.Attention, "rope") {
			c.Position = "none"
		}
		if c.ValidateModel() != nil {
			continue // linformer is not causal
		}
		at := byPosition(c)
		decodesEdited(t, c, map[string]func(graph.Expr) graph.Expr{"h.0": at, "h.1.attn.heads": at, "h.1.mlp.act": at, "wte": at}, true)
	}
	c := tiny()
	c.VocabSize = 11
	at, twice := byPosition(c), func(x graph.Expr) graph.Expr { return x.Scale(2) }
	tables := func(x graph.Expr) graph.Expr {
		return x.Add(x.Graph().Root().Value("all", graph.Normal(1), x.Shape()...))
	}
	decodesEdited(t, c, map[string]func(graph.Expr) graph.Expr{"h.0": at, "h.0.attn": twice}, false)
	decodesEdited(t, c, map[string]func(graph.Expr) graph.Expr{"h.0": tables}, false)
}

// decodesEdited compares a decoder with full forward passes.
func decodesEdited(t *testing.T, c Config, edits map[string]func(graph.Expr) graph.Expr, steps bool) {
	t.Helper()
	g := graph.New(graph.Float64, 1)
	for place, edit := range edits {
		g.Edit(place, edit)
	}
	m, err := New(g, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, _, newest := programs(t, m)
	if want := steps && cachedAttention(t, c); newest != want {
		t.Errorf("%s: processes only the newest tokens: %v, want %v", c.Attention, newest, want)
	}
	n := m.network()
	build := n.Build
	n.Build = func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) decode.Layers {
		return uncached{build(s, batch, positions, caches)}
	}
	again, err := decode.New(n, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.BlockSize + 1 {
		got, err := d.Feed([]int{i})
		if err != nil {
			t.Fatal(err)
		}
		want, err := again.Feed([]int{i})
		if err != nil {
			t.Fatal(err)
		}
		for j := range got.Len() {
			if !(math.Abs(got.At(j)-want.At(j)) <= 1e-12) {
				t.Fatalf("%s, token %d: got %v, want %v", c.Attention, i, got.F64, want.F64)
			}
		}
	}
}

// cachedAttention reports whether a model without edits processes only the newest tokens.
func cachedAttention(t *testing.T, c Config) bool {
	m, err := New(graph.New(graph.Float64, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, _, newest := programs(t, m)
	return newest
}

// uncached layers process all tokens for each new one.
type uncached struct{ decode.Layers }

func (uncached) Cached() bool { return false }
