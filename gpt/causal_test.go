package gpt

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

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
	r := parts.Registry{Positions: l.Positions[:1], Attentions: l.Attentions[:1], Norms: l.Norms[:1], Blocks: l.Blocks[:1], MLPs: l.MLPs[:1], Heads: l.Heads[1:2]}
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
