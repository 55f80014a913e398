package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// bare hides that a layer can take the newest tokens alone.
type bare struct{ nn.Layer }

// scaled doubles the logits of a tied head.
type scaled struct{ nn.Layer }

func (s scaled) Forward(x graph.Expr) graph.Expr { return s.Layer.Forward(x).Scale(2) }

// ours has one part of every kind.
func ours() Config {
	c := odd()
	c.Position, c.Attention, c.Norm, c.Block, c.Activation, c.Head = "ours", "ours", "ours", "ours", "ours", "ours"
	c.Parts = Parts{
		Positions: []Position{{Name: "ours", New: func(*nn.Site, Config) nn.Layer { return nil }}},
		Attentions: []Attention{{Name: "ours", New: func(nn.Site, Config) nn.Attention {
			return func(at nn.Site) nn.Layer { return bare{selfAttention(at)} }
		}, Linears: packed}},
		Norms:       []Norm{{Name: "ours", New: func(at nn.Site) nn.Layer { at.Eps = 0.5; return nn.NewLayerNorm(at) }, Count: gainAndShift}},
		Blocks:      []Block{{Name: "ours", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }, Final: true}},
		Activations: []Activation{{Name: "ours", Layer: nn.ReLU{}}},
		Heads:       []Head{{Name: "ours", New: func(at nn.Site, _ Config, wte *nn.Embedding) nn.Layer { return scaled{nn.NewTied(at.Scope, wte)} }}},
	}
	return c
}

// A run with parts of one's own trains, saves, resumes and is loaded again by a program that has them; one that has not
// is told what it knows.
func TestOwnParts(t *testing.T) {
	c := tiny()
	own := ours()
	c.Position, c.Attention, c.Norm, c.Block, c.Activation, c.Head, c.Parts = "ours", "ours", "ours", "ours", "ours", "ours", own.Parts
	trainer := newTrainer(t, c)
	steps(t, trainer, 2)
	cp := saved(t, 2, files(t, trainer))

	m, err := LoadModel(emptyGraph(), cp, own.Parts)
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, m, trainer.Model)
	again, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, again.Model, trainer.Model)

	_, err = LoadModel(emptyGraph(), cp)
	mustContain(t, err, "position: got ours, want one of learned, ")
	own.Parts.Positions = append(own.Parts.Positions, Position{Name: "theirs"})
	c = odd()
	c.Position, c.Parts = "left", own.Parts
	mustContain(t, c.ValidateModel(), "position: got left, want one of ours, theirs, learned, ")
}

// A part of the library's name takes its place.
func TestOwnPartInPlace(t *testing.T) {
	c := odd()
	plain, _ := logitsOf(t, c)
	c.Parts.Norms = []Norm{{Name: "layernorm", New: func(at nn.Site) nn.Layer { at.Eps = 0.5; return nn.NewLayerNorm(at) }, Count: gainAndShift}}
	got, _ := logitsOf(t, c)
	if d := relative(got, plain, 0); !(d > 1e-3) {
		t.Errorf("got a distance of %v from the library's own, want more", d)
	}
}

func logitsOf(t *testing.T, c Config) (logits []float64, m *Model) {
	t.Helper()
	m = model64(t, c, true, 1)
	p, err := graph.Compile(m.Logits)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return p.Value().Floats(), m
}

// What cannot be is an error that names the field and both numbers.
func TestImpossibleParts(t *testing.T) {
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Attention = "window" }, "window: got 0, want 1 to block_size 7"},
		{func(c *Config) { c.Attention, c.Window = "alternating", 8 }, "window: got 8, want 1 to block_size 7"},
		{func(c *Config) { c.Position = "rope" }, "qk_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.Position, c.NEmbd = "sinusoidal", 9 }, "n_embd: got 9, want an even number, such as 10"},
		{func(c *Config) { c.Attention, c.Position, c.QKSize = "linear", "rope", 4 }, "position: got rope, want another with attention linear"},
		{func(c *Config) { c.Attention, c.Position = "taylor", "alibi" }, "position: got alibi, want another with attention taylor"},
		{func(c *Config) { c.Attention, c.Window, c.RandomKeys = "bigbird", 3, 8 }, "random_keys: got 8, want at most block_size 7"},
		{func(c *Config) { c.Attention, c.Window, c.Dilation = "dilated", 3, 8 }, "dilation: got 8, want at most block_size 7"},
		{func(c *Config) { c.Attention, c.RopeSize = "mla_rope", 3 }, "rope_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.Attention, c.Position, c.QKSize = "mla_rope", "rope", 4 }, "position: got rope, want another with attention mla_rope"},
		{func(c *Config) { c.Block, c.Attention = "elman", "linear" }, "attention: got linear, want the usual, causal, with block elman, which has none"},
		{func(c *Config) { c.Block, c.Norm = "elman", "layernorm_plain" }, "norm: got layernorm_plain, want the usual, layernorm, with block elman"},
		{func(c *Config) { c.Block, c.Activation = "elman", "relu" }, "activation: got relu, want the usual, gelu, with block elman"},
		{func(c *Config) { c.Block, c.Position = "elman", "alibi" }, "position: got alibi, want learned, sinusoidal or none with block elman"},
		{func(c *Config) { c.NHead, c.QKSize = 3, 0 }, "n_head: 3 heads do not divide n_embd 10"},
		{func(c *Config) { c.Attention = "linformer" }, "attention: got linformer, want a causal one: its keys are mixtures of all block_size 7 tokens"},
		{func(c *Config) { c.Attention = "full" }, "attention: got full, want one of causal, window"},
		{func(c *Config) { c.Norm = "batch" }, "norm: got batch, want one of layernorm"},
		{func(c *Config) { c.Position = "left" }, "position: got left, want one of learned"},
		{func(c *Config) { c.Block = "side" }, "block: got side, want one of pre, post"},
		{func(c *Config) { c.Head = "two" }, "head: got two, want one of linear, tied"},
		{func(c *Config) { c.Activation = "swish" }, "activation: got swish, want one of gelu"},
	}
	for _, test := range tests {
		c := odd()
		test.change(&c)
		if _, err := New(graph.New(graph.Float64, 1), c, 2); err == nil {
			t.Errorf("got no error, want %s", test.want)
		} else {
			mustContain(t, err, test.want)
		}
	}
}
