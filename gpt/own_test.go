package gpt

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
)

// bare hides that a layer can process the newest tokens alone.
type bare struct{ nn.Layer }

// scaled doubles the logits of a tied head.
type scaled struct{ nn.Layer }

func (s scaled) Forward(x graph.Expr) graph.Expr { return s.Layer.Forward(x).Scale(2) }

// ours returns a configuration with a user-defined part of every kind.
func ours() Config {
	c := odd()
	c.Stack, c.Head, c.Optimizer, c.Schedule = named(c.Stack), "ours", "ours", "ours"
	c.Parts = parts.Registry{
		Positions: []parts.Position{
			{Name: "ours", New: func(nn.Site, parts.Stack) nn.Placement { return nn.Placement{} }},
		},
		Attentions: []parts.Attention{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer { return bare{nn.NewSelfAttention(at)} }
		}}},
		Norms: []parts.Norm{
			{Name: "ours", New: func(at nn.Site) nn.Layer { at.Eps = 0.5; return nn.NewLayerNorm(at) }},
		},
		Blocks: []parts.Block{
			{Name: "ours", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }, Final: true},
		},
		MLPs:        []parts.MLP{{Name: "ours", New: func(at nn.Site) nn.Layer { return newGated(at) }}},
		Activations: []parts.Activation{{Name: "ours", Layer: nn.ReLU{}}},
		Heads: []parts.Head{
			{
				Name: "ours",
				New:  func(at nn.Site, _ int, wte *nn.Embedding) nn.Layer { return scaled{nn.NewTied(at.Scope, wte)} },
			},
		},
		Optimizers: []parts.Optimizer{{Name: "ours", New: momentumless}},
		Schedules:  []train.Schedule{{Name: "ours", Rate: halving}},
		Kinds: []parts.Kind{{Key: "own_value", Help: "share of a token's value in the results of heads",
			Variants: func() []parts.Variant {
				return []parts.Variant{{Name: "none"}, {Name: "learned", After: parts.Apart(newOwnValue)}}
			}}, {Key: "own_stream", Help: "weights of the residual stream", Variants: func() []parts.Variant {
			return []parts.Variant{
				{Name: "none"}, {Name: "learned", Stream: func(parts.Stack) nn.Stream { return ownStream{} }},
			}
		}}},
	}
	return c
}

// newOwnValue returns a link that adds c·v to the results of the heads, of which c is learned.
func newOwnValue(at nn.Site, _ fused.AttentionShape) nn.Link {
	c := at.Param("own_value", graph.Const(0.5), 1)
	return nn.LinkFunc(func(in nn.Inside) graph.Expr { return in.Y.Add(in.Value().Mul(c)) })
}

// ownStream adds c·y in place of the result y of a sublayer, of which c is learned.
type ownStream struct{ nn.PlainStream }

func (ownStream) Connect(at nn.Site) nn.Connection {
	return ownSum{at.Param("own_sum", graph.Const(0.5), 1)}
}

type ownSum struct{ c graph.Expr }

func (ownSum) Read(x graph.Expr) graph.Expr { return x }

func (s ownSum) Write(x graph.Expr, y ...graph.Expr) graph.Expr { return x.Add(y[0].Mul(s.c)) }

// halving halves the learning rate after every step.
func halving(t train.Training, it int) float64 { return math.Ldexp(t.LearningRate, -it) }

// named sets every part of a stack to ours.
func named(s parts.Stack) parts.Stack {
	s.Position, s.Attention, s.Norm, s.Block, s.MLP, s.Activation = "ours", "ours", "ours", "ours", "ours", "ours"
	s.With.Set("own_value", "learned")
	s.With.Set("own_stream", "learned")
	return s
}

// gated is an MLP with a gate: (silu-like) act(x·w) ∘ x·v, back to d.
type gated struct{ gate, up, down, act nn.Layer }

func newGated(at nn.Site) *gated {
	affine := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, at.Bias, graph.Normal(0.02))
	}
	return &gated{
		affine("c_gate", at.Embd, at.Inner), affine("c_fc", at.Embd, at.Inner), affine("c_proj", at.Inner, at.Embd),
		at.Act,
	}
}

func (l *gated) Forward(x graph.Expr) graph.Expr {
	return l.down.Forward(l.act.Forward(l.gate.Forward(x)).Mul(l.up.Forward(x)))
}

// momentumless is SGD without its momentum.
func momentumless(train.Training) optim.Rule { return optim.SGD{} }

// A kind of link that the attention does not build is refused by its name, and by the attention's.
func TestLinksAreUsed(t *testing.T) {
	c := tiny()
	c.VocabSize, c.Attention = 65, "own"
	c.With.Set("qk_norm", "head")
	c.Parts.Attentions = []parts.Attention{{Name: "own", New: func(nn.Site, parts.Stack) nn.Attention {
		return func(at nn.Site) nn.Layer { at.Links = nn.Links{}; return nn.NewSelfAttention(at) }
	}}}
	_, err := New(graph.New(graph.Float32, 1), c, 1)
	mustContain(t, err, "qk_norm: got head, and attention own in block pre builds no such link: want an "+
		"attention that does, such as causal, or qk_norm none")
}

// A stream that a block does not join is refused by its name, and by the name of the block. A model has one stream.
func TestStreamsAreUsed(t *testing.T) {
	c := tiny()
	c.VocabSize, c.Block = 65, "own"
	c.With.Set("hyper_connections", "mhc")
	c.Parts.Blocks = []parts.Block{
		{Name: "own", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.Make(at, a) }},
	}
	_, err := New(graph.New(graph.Float32, 1), c, 1)
	mustContain(t, err, "hyper_connections: got mhc, and block own joins no sublayer to the residual stream: want "+
		"a block that does, such as pre, or hyper_connections none")
	for _, block := range []string{"post", "elman"} {
		c.Block = block
		c.Parts.Blocks = nil
		mustContain(t, c.ValidateModel(), map[string]string{
			"post":  "h.0: post-norm block with hyper_connections: the layer does not join the residual stream",
			"elman": "hyper_connections: got mhc, want the default, none, with block elman, which has none",
		}[block])
	}
	c.Block = "pre"
	c.With.Set("skips", "unet")
	mustContain(
		t, c.ValidateModel(), "hyper_connections: got mhc, want none with skips unet: a model has one residual stream",
	)
}

// A run with user-defined parts trains, saves and resumes, and is loaded by a program that has them. A program without
// them gets an error with the names that it has.
func TestOwnParts(t *testing.T) {
	c := tiny()
	own := ours()
	c.Stack, c.Head, c.Optimizer, c.Schedule, c.Parts = named(c.Stack), "ours", "ours", "ours", own.Parts
	trainer := newTrainer(t, c)
	for i, p := range steps(t, trainer, 2) {
		if want := math.Ldexp(c.LearningRate, -i); p.LR != want || trainer.Config().RateAt(i) != want {
			t.Errorf("step %d: learning rate %v, RateAt %v, want %v", p.Step, p.LR, trainer.Config().RateAt(i), want)
		}
	}
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
	c.Parts.Schedules = nil
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
	mustContain(t, err, "schedule: got ours, want one of cosine, linear, wsd, constant")
	if got := c.RateAt(0); !math.IsNaN(got) {
		t.Errorf("an unknown schedule: got %v, want NaN", got)
	}

	_, err = LoadModel(emptyGraph(), cp)
	mustContain(t, err, "own_value: unknown field")
	_, err = LoadModel(emptyGraph(), cp, parts.Registry{Kinds: own.Parts.Kinds})
	mustContain(t, err, "position: got ours, want one of learned, ")
	own.Parts.Positions = append(own.Parts.Positions, parts.Position{Name: "theirs"})
	c = odd()
	c.Position, c.Parts = "left", own.Parts
	mustContain(t, c.ValidateModel(), "position: got left, want one of ours, theirs, learned, ")
}

// A part with the name of one of the library replaces it.
func TestOwnPartInPlace(t *testing.T) {
	c := odd()
	plain, _ := logitsOf(t, c)
	c.Parts.Norms = []parts.Norm{
		{Name: "layernorm", New: func(at nn.Site) nn.Layer { at.Eps = 0.5; return nn.NewLayerNorm(at) }},
	}
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

// Invalid combinations are an error that names the field and both numbers.
func TestImpossibleParts(t *testing.T) {
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Attention = "window" }, "window: got 0, want 1 to block_size 7"},
		{
			func(c *Config) { c.Attention = "alternating"; c.Options.Set("window", 8) },
			"window: got 8, want 1 to block_size 7",
		},
		{func(c *Config) { c.Position = "rope" }, "qk_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.Position, c.NEmbd = "sinusoidal", 9 }, "n_embd: got 9, want an even number, such as 10"},
		{func(c *Config) {
			c.Attention, c.Position = "linear", "rope"
			c.QKSize = 4
		}, "position: got rope, want another with attention linear"},
		{func(c *Config) {
			c.Attention = "taylor"
			c.Position = "alibi"
		}, "position: got alibi, want another with attention taylor"},
		{
			func(c *Config) { c.Attention = "bigbird"; c.Options.Set("window", 3); c.Options.Set("random_keys", 8) },
			"random_keys: got 8, want at most block_size 7",
		},
		{
			func(c *Config) { c.Attention = "dilated"; c.Options.Set("window", 3); c.Options.Set("dilation", 8) },
			"dilation: got 8, want at most block_size 7",
		},
		{func(c *Config) {
			c.Attention = "gqa"
			c.NHead = 6
			c.Options.Set("n_kv_head", 4)
		}, "n_kv_head: got 4, want a divisor of n_head 6"},
		{func(c *Config) {
			c.Attention = "gqa_bias"
			c.NHead = 6
			c.Options.Set("n_kv_head", 12)
		}, "n_kv_head: got 12, want a divisor of n_head 6"},
		{
			func(c *Config) { c.Attention = "mla_rope"; c.Options.Set("rope_size", 3) },
			"rope_size: got 3, want an even number, such as 4",
		},
		{func(c *Config) {
			c.Attention, c.Position = "mla_rope", "rope"
			c.QKSize = 4
		}, "position: got rope, want another with attention mla_rope"},
		{func(c *Config) {
			c.Block = "elman"
			c.Attention = "linear"
		}, "attention: got linear, want the default, causal, with block elman, which has none"},
		{func(c *Config) {
			c.Block = "elman"
			c.Norm = "layernorm_plain"
		}, "norm: got layernorm_plain, want the default, layernorm, with block elman"},
		{func(c *Config) {
			c.Block = "elman"
			c.Activation = "relu"
		}, "activation: got relu, want the default, gelu, with block elman"},
		{func(c *Config) {
			c.Block = "elman"
			c.Position = "alibi"
		}, "position: got alibi, want learned, sinusoidal or none with block elman"},
		{func(c *Config) { c.NHead, c.QKSize = 3, 0 }, "n_head: 3 heads do not divide n_embd 10"},
		{
			func(c *Config) { c.Attention = "linformer" },
			"attention: got linformer, want a causal one: its keys are mixtures of all block_size 7 tokens",
		},
		{
			func(c *Config) { c.Attention = "full" },
			"attention: got full, want one of causal, sigmoid, forgetting, diff, gqa",
		},
		{func(c *Config) { c.Norm = "batch" }, "norm: got batch, want one of layernorm"},
		{func(c *Config) { c.Position = "left" }, "position: got left, want one of learned"},
		{func(c *Config) { c.Block = "side" }, "block: got side, want one of pre, post"},
		{func(c *Config) { c.Head = "two" }, "head: got two, want one of linear, linear_no_bias, tied"},
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

// glass panics when it is used.
type glass struct{}

func (glass) Forward(graph.Expr) graph.Expr { panic("glass") }

// A user-defined part that panics, returns nil, or cannot be built is an error that names it, or its place.
func TestPartsThatPanic(t *testing.T) {
	data, tok := corpus(t, verses, 8)
	broken := func(nn.Site) nn.Layer { panic("glass") }
	fragile := func(nn.Site) nn.Layer { return glass{} }
	nothing := func(nn.Site) nn.Layer { return nil }
	for how, layer := range map[string]func(nn.Site) nn.Layer{
		"its New": broken, "its Forward": fragile, "no layer": nothing, "no function": nil,
	} {
		for kind, c := range map[string]struct {
			r    parts.Registry
			want []string // the part by kind and name, or its place
		}{
			"attention": {
				parts.Registry{
					Attentions: []parts.Attention{
						{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return layer }},
					},
				},
				[]string{`attention "ours"`, "h.0.attn: "},
			},
			"norm": {
				parts.Registry{Norms: []parts.Norm{{Name: "ours", New: layer}}},
				[]string{"norm: got ours", "h.0.ln_1: ", "ln_f"},
			},
			"mlp": {
				parts.Registry{MLPs: []parts.MLP{{Name: "ours", New: layer}}}, []string{"mlp: got ours", "h.0.mlp: "},
			},
			"block": {parts.Registry{
				Blocks: []parts.Block{
					{Name: "ours", Final: true, New: func(at nn.Site, _ nn.Attention) nn.Layer { return layer(at) }},
				},
			},
				[]string{"h.0: "}},
			"head": {parts.Registry{
				Heads: []parts.Head{
					{Name: "ours", New: func(at nn.Site, _ int, _ *nn.Embedding) nn.Layer { return layer(at) }},
				},
			},
				[]string{"lm_head: "}},
			"activation": {
				parts.Registry{Activations: []parts.Activation{{Name: "ours", Layer: glass{}}}},
				[]string{"h.0.mlp.act: "},
			},
			"position": {parts.Registry{Positions: []parts.Position{{Name: "ours",
				New: func(at nn.Site, _ parts.Stack) nn.Placement {
					return nn.Placement{Layer: layer(at)}
				}}}}, []string{`position "ours"`, "position: "}},
			"optimizer": {parts.Registry{Optimizers: []parts.Optimizer{{Name: "ours",
				New: func(train.Training) optim.Rule {
					panic("glass")
				}}}}, []string{`optimizer "ours"`}},
		} {
			config := tiny()
			config.Parts = c.r
			for field, to := range map[string]*string{"attention": &config.Attention, "norm": &config.Norm,
				"mlp": &config.MLP, "block": &config.Block,
				"head": &config.Head, "activation": &config.Activation, "position": &config.Position,
				"optimizer": &config.Optimizer} {
				if field == kind {
					*to = "ours"
				}
			}
			_, err := NewTrainer(config, data, tok)
			if kind == "position" && how == "no layer" && err == nil {
				continue // a position may have none
			}
			named := false
			for _, want := range c.want {
				named = named || err != nil && strings.Contains(err.Error(), want)
			}
			if !named {
				t.Errorf("%s, %s: got error %v, want one of %q", kind, how, err, c.want)
			}
		}
	}
}

// A part with only a name is refused with the configuration, by kind and name; an optimizer when it is built.
func TestPartsWithoutNew(t *testing.T) {
	data, tok := corpus(t, verses, 8)
	for kind, change := range map[string]func(*Config){
		"position":  func(c *Config) { c.Position, c.Parts.Positions = "ours", []parts.Position{{Name: "ours"}} },
		"attention": func(c *Config) { c.Attention, c.Parts.Attentions = "ours", []parts.Attention{{Name: "ours"}} },
		"norm":      func(c *Config) { c.Norm, c.Parts.Norms = "ours", []parts.Norm{{Name: "ours"}} },
		"block":     func(c *Config) { c.Block, c.Parts.Blocks = "ours", []parts.Block{{Name: "ours"}} },
		"mlp":       func(c *Config) { c.MLP, c.Parts.MLPs = "ours", []parts.MLP{{Name: "ours"}} },
		"head":      func(c *Config) { c.Head, c.Parts.Heads = "ours", []parts.Head{{Name: "ours"}} },
		"optimizer": func(c *Config) { c.Optimizer, c.Parts.Optimizers = "ours", []parts.Optimizer{{Name: "ours"}} },
		"schedule":  func(c *Config) { c.Schedule, c.Parts.Schedules = "ours", []train.Schedule{{Name: "ours"}} },
	} {
		c := tiny()
		change(&c)
		c.VocabSize = tok.Size()
		if err := c.Validate(); kind != "optimizer" {
			mustContain(t, err, kind+": got ours, a part without ", ": nothing ")
		}
		_, err := NewTrainer(c, data, tok)
		mustContain(t, err, kind, "ours", "nothing ")
	}
}

// layerFunc is a user-defined layer that does not use its scope.
type layerFunc func(x graph.Expr) graph.Expr

func (f layerFunc) Forward(x graph.Expr) graph.Expr { return f(x) }

// ownLayer returns c with the layer as its part of a kind, and the path of that part.
func ownLayer(c Config, kind string, l nn.Layer) (Config, string) {
	layer := func(nn.Site) nn.Layer { return l }
	switch kind {
	case "attention":
		c.Attention = "ours"
		c.Parts.Attentions = []parts.Attention{
			{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return layer }},
		}
		return c, "h.0.attn"
	case "norm":
		c.Norm, c.Parts.Norms = "ours", []parts.Norm{{Name: "ours", New: layer}}
		return c, "h.0.ln_1"
	case "mlp":
		c.MLP, c.Parts.MLPs = "ours", []parts.MLP{{Name: "ours", New: layer}}
		return c, "h.0.mlp"
	case "activation":
		c.Activation, c.Parts.Activations = "ours", []parts.Activation{{Name: "ours", Layer: l}}
		return c, "h.0.mlp.act"
	case "block":
		c.Block = "ours"
		c.Parts.Blocks = []parts.Block{{Name: "ours", New: func(at nn.Site, _ nn.Attention) nn.Layer { return l }}}
		return c, "h.0"
	case "head":
		c.Head = "ours"
		c.Parts.Heads = []parts.Head{
			{Name: "ours", New: func(at nn.Site, _ int, _ *nn.Embedding) nn.Layer { return l }},
		}
		return c, "lm_head"
	}
	c.Position = "ours"
	c.Parts.Positions = []parts.Position{
		{Name: "ours", New: func(at nn.Site, _ parts.Stack) nn.Placement { return nn.Placement{Layer: l} }},
	}
	return c, "position"
}

// A user-defined layer of any kind that returns a wrong shape, fails in an operation, or panics is an error under its
// own name, even if it leaves its input's scope unchanged. A panic has the file and line.
func TestWrongLayersAreNamed(t *testing.T) {
	line := 0
	for how, c := range map[string]struct {
		forward func(x graph.Expr) graph.Expr
		want    func() string
	}{
		"a column less": {
			func(x graph.Expr) graph.Expr { return x.Columns(0, x.Shape()[1]-1) },
			func() string { return "got shape (" },
		},
		"a sum":     {func(x graph.Expr) graph.Expr { return x.Sum() }, func() string { return "got shape (" }},
		"a product": {func(x graph.Expr) graph.Expr { return x.MatMul(x) }, func() string { return "matmul (" }},
		"a panic": {
			func(x graph.Expr) graph.Expr { _, _, line, _ = runtime.Caller(0); return x.Columns(0, x.Shape()[7]) },
			func() string {
				return fmt.Sprintf(
					"panic: runtime error: index out of range [7] with length 2 at %s:%d", thisFile(), line,
				)
			},
		},
	} {
		for _, kind := range []string{"attention", "norm", "mlp", "activation", "block", "head", "position"} {
			config, place := ownLayer(tiny(), kind, layerFunc(c.forward))
			config.VocabSize = 11
			_, err := New(graph.New(graph.Float64, 1), config, 3)
			if err == nil || !strings.HasPrefix(err.Error(), "gpt: "+place+": "+c.want()) {
				t.Errorf("%s, %s: got error %v, want %s: %s", kind, how, err, place, c.want())
			}
		}
	}
}

func thisFile() string { _, file, _, _ := runtime.Caller(0); return file }

// Positions that no layer uses are refused by name, when a model is built and when a run begins: with a user-defined
// attention that never rotates, with one whose mask has no biases, and with a block without attention. A network that
// uses them is built.
func TestPositionsAreUsed(t *testing.T) {
	still := parts.Attention{Name: "own", New: func(nn.Site, parts.Stack) nn.Attention {
		return func(at nn.Site) nn.Layer { at.Rotary = nil; return nn.NewSelfAttention(at) }
	}}
	unbiased := parts.Attention{Name: "own", New: func(root nn.Site, _ parts.Stack) nn.Attention {
		mask := nn.NewMask(root.Sub("own"), root.Dims, nn.Causal{})
		return func(at nn.Site) nn.Layer { at.Mask = mask; return nn.NewSelfAttention(at) }
	}}
	biased := parts.Attention{Name: "own", New: func(root nn.Site, _ parts.Stack) nn.Attention {
		mask := nn.NewBiasedMask(root.Sub("own"), root.Dims, nn.Causal{}, root.Scores)
		return func(at nn.Site) nn.Layer { at.Mask = mask; return nn.NewSelfAttention(at) }
	}}
	lone := parts.Block{
		Name: "own", Final: true, New: func(at nn.Site, _ nn.Attention) nn.Layer { return nn.NewMLP(at) },
	}
	run := newTrainer(t, tiny())
	for name, c := range map[string]struct {
		position  string
		attention parts.Attention
		block     parts.Block
		want      string
	}{
		"still": {
			"rope", still, parts.Block{},
			"position: got rope, and attention own in block pre never calls Rotate of its Site's Rotary: want an " +
				"attention that does, such as causal, or position learned",
		},
		"unbiased": {
			"alibi", unbiased, parts.Block{},
			"position: got alibi, and attention own in block pre never uses its Site's Mask or Scores: want an " +
				"attention",
		},
		"no attention": {
			"rope", parts.Attention{}, lone, "position: got rope, and attention causal in block own never calls Rotate",
		},
		"no scores": {
			"alibi", parts.Attention{}, lone, "position: got alibi, and attention causal in block own never uses",
		},
		"rotating":    {"rope", unbiased, parts.Block{}, ""},
		"biased":      {"alibi", biased, parts.Block{}, ""},
		"other masks": {"alibi", still, parts.Block{}, ""},
		"learned":     {"learned", still, parts.Block{}, ""},
		"none":        {"none", unbiased, lone, ""},
	} {
		config := tiny()
		config.Position, config.QKSize, config.VocabSize = c.position, 4, run.Config().VocabSize
		if c.attention.New != nil {
			config.Attention, config.Parts.Attentions = "own", []parts.Attention{c.attention}
		}
		if c.block.New != nil {
			config.Block, config.Parts.Blocks = "own", []parts.Block{c.block}
		}
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float32, 1)
			g.Kernels = kernels
			_, built := New(g, config, 2)
			config.Kernels = kernels
			_, trains := NewTrainer(config, run.Corpus, run.Tokenizer)
			for _, err := range []error{built, trains} {
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: got %v, want %q", name, err, c.want)
				}
			}
		}
	}
}

// An option that the attention does not read is refused if a program or a flag sets it. Recipes and files may contain
// it, because they have the options of all attentions.
func TestUnreadOptionsAreRefused(t *testing.T) {
	run := newTrainer(t, tiny())
	begin := func(c Config) error {
		_, err := NewTrainer(c, run.Corpus, run.Tokenizer)
		return err
	}
	c := tiny()
	c.Options.Set("window", 4)
	mustContain(
		t, begin(c), "window: got 4, which attention causal does not read, want 0 or attention gqa_window, window, ",
	)
	c = tiny()
	c.Options.Set("wndow", 3)
	mustContain(t, begin(c), "wndow: got 3: no attention has such an option; did you mean window?")
	c = tiny()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs)
	if err := fs.Parse([]string{"-window", "4"}); err != nil {
		t.Fatal(err)
	}
	mustContain(t, begin(c), "window: got 4, which attention causal does not read")
	read, err := ReadConfig(strings.NewReader(`{"window": 4, "dilation": 3, "latent_size": 5}`), tiny())
	if err != nil {
		t.Fatal(err)
	}
	if err := begin(read); err != nil {
		t.Errorf("the options of a file: got %v", err)
	}
	c = tiny()
	c.Attention = "window"
	c.Options.Set("window", 4)
	if err := begin(c); err != nil {
		t.Errorf("got %v, want none where the attention reads it", err)
	}
	for _, c := range []Config{
		Shakespeare(), Modern(), Baby(), GPT2(), Paper(), DistilGPT2(), SmolLM2_135M(), Stories15M(),
	} {
		c.Attention, c.VocabSize = "causal", max(c.VocabSize, 65)
		if err := c.ValidateModel(); err != nil {
			t.Errorf("a recipe with another attention: %v", err)
		}
	}
}

// Feeding a decoder needs the same memory with a user-defined gated MLP as with the library's.
func TestMemoryOfOwnGatedMLP(t *testing.T) {
	least := func(c Config) float64 {
		m, err := New(emptyGraph(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		low, high := 1.0, 1e9
		for high-low > 1 {
			middle := float64(int(low+high) / 2)
			m.Graph.SetMemoryLimit(int64(middle))
			if m.checkDecoding(1) == nil {
				high = middle
			} else {
				low = middle
			}
		}
		return high
	}
	c := tiny()
	c.VocabSize, c.MLP = 11, "swiglu"
	want := least(c)
	c.MLP, c.Parts.MLPs = "own", []parts.MLP{{Name: "own", New: func(at nn.Site) nn.Layer { return newGated(at) }}}
	if got := least(c); got != want {
		t.Errorf("got %.0f bytes, want %.0f", got, want)
	}
}

// An option of another optimizer is refused; the option of a user's optimizer is not.
func TestOptionsOfOptimizers(t *testing.T) {
	c := tiny()
	for name, tc := range map[string]struct {
		set  func()
		want string
	}{
		"a number": {
			func() { c.MuonSteps = 3 }, "muon_steps: got 3, which optimizer adamw does not read, want optimizer muon",
		},
		"a fraction": {func() { c.MuonMomentum = 0.5 }, "muon_momentum: got 0.5, which optimizer adamw does not read"},
		"a name": {
			func() { c.MuonScale = "spectral" }, "muon_scale: got spectral, which optimizer adamw does not read",
		},
		"muon": {func() { c.Optimizer, c.MuonSteps, c.MuonMomentum, c.MuonScale = "muon", 3, 0.5, "spectral" }, ""},
		"soap": {
			func() { c.ShampooBeta = 0.5 },
			"shampoo_beta: got 0.5, which optimizer adamw does not read, want optimizer soap",
		},
		"one's own": {func() {
			c.Optimizer, c.MuonSteps = "ours", 3
			c.Parts.Optimizers = []parts.Optimizer{{Name: "ours", New: momentumless, Options: []string{"muon_steps"}}}
		}, ""},
	} {
		c = tiny()
		c.VocabSize = 9
		switch tc.set(); {
		case tc.want != "":
			mustContain(t, c.Validate(), tc.want)
		case c.Validate() != nil:
			t.Errorf("%s: got error %v", name, c.Validate())
		}
	}
}

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
			c.MLP = "own"
			c.Parts.MLPs = []parts.MLP{
				{Name: "own", New: func(at nn.Site) nn.Layer { return newMixing(at, nn.NewMLP(at), share) }},
			}
		}
	}
	return map[string]kind{
		"attention with a symmetric mask": {func(c *Config) {
			c.Attention, c.Parts.Attentions = "own", []parts.Attention{{Name: "own",
				New: func(root nn.Site, _ parts.Stack) nn.Attention {
					mask := nn.NewMask(root.Sub("own"), root.Dims, symmetric{})
					return func(at nn.Site) nn.Layer { at.Mask = mask; return nn.NewSelfAttention(at) }
				}}}
		}, "h.0.attn.heads", "token 0 sees later tokens of its text, 1–2"},
		"an MLP with a mean over the text": {mlp(ownText), "h.0.mlp", all},
		"an MLP with a mean over the batch": {
			mlp(otherText), "h.0.mlp", "sees another text of the batch, its tokens 0",
		},
		"a norm over the text": {func(c *Config) {
			c.Norm = "own"
			c.Parts.Norms = []parts.Norm{
				{Name: "own", New: func(at nn.Site) nn.Layer { return newMixing(at, nn.NewLayerNorm(at), ownText) }},
			}
		}, "h.0.ln_1", all},
		"a position": {func(c *Config) {
			c.Position, c.Parts.Positions = "own", []parts.Position{{Name: "own",
				New: func(at nn.Site, _ parts.Stack) nn.Placement {
					return nn.Placement{Layer: newMixing(at, nn.NewLearnedPositions(at.At("wpe")), next)}
				}}}
		}, "position", later},
		"a head": {func(c *Config) {
			c.Head, c.Parts.Heads = "own", []parts.Head{{Name: "own",
				New: func(at nn.Site, _ int, wte *nn.Embedding) nn.Layer {
					return newMixing(at, nn.NewTied(at.Scope, wte), next)
				}}}
		}, "lm_head", later},
		"a block": {func(c *Config) {
			c.Block = "own"
			c.Parts.Blocks = []parts.Block{
				{
					Name: "own", Final: true,
					New: func(at nn.Site, a nn.Attention) nn.Layer { return newMixing(at, nn.NewBlock(at, a), next) },
				},
			}
		}, "h.0", later},
	}
}

// honest returns a registry in which each part with the name "own" is the library's default.
func honest() parts.Registry {
	l := parts.Library()
	r := parts.Registry{
		Positions: l.Positions[:1], Attentions: l.Attentions[:1], Norms: l.Norms[:1], Blocks: l.Blocks[:1],
		MLPs: l.MLPs[:1], Heads: l.Heads[2:3],
	}
	r.Positions[0].Name, r.Attentions[0].Name, r.Norms[0].Name = "own", "own", "own"
	r.Blocks[0].Name, r.MLPs[0].Name, r.Heads[0].Name = "own", "own", "own"
	return r
}

// ownHonest returns tiny with a user-defined part of every kind, none of which looks ahead.
func ownHonest() Config {
	c := tiny()
	c.Position, c.Attention, c.Norm, c.Block = "own", "own", "own", "own"
	c.MLP, c.Head, c.Parts = "own", "own", honest()
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
		_, err = fineTune(c, run.Corpus, run.Tokenizer, cp)
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

// forwardOnly is a function as a layer.
type forwardOnly func(x graph.Expr) graph.Expr

func (f forwardOnly) Forward(x graph.Expr) graph.Expr { return f(x) }

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
		behind := at.Value(
			"late", func(i int, _ *rand.Rand) float64 { return float64(i % at.Context / 20) }, at.Batch*at.Context, 1,
		)
		return second(func(l nn.Cached) func(x graph.Expr) graph.Expr {
			return func(x graph.Expr) graph.Expr { y := l.Forward(x); return y.Add(y.Mul(behind)) }
		})(at, l)
	}
	block := withOwn(7, func(_ nn.Site, l nn.Layer) nn.Layer { return l })
	block.Parts.Blocks = []parts.Block{{Name: "pre", Final: true, New: func(at nn.Site, a nn.Attention) nn.Layer {
		b := nn.NewBlock(at, a)
		return replacing{b, func(x graph.Expr) graph.Expr { return b.Forward(x).Add(x) }}
	}}}
	previous := func(at nn.Site, x graph.Expr) graph.Expr { // which are zeros in a step of other lengths
		length := at.Context
		if x.Shape()[0]%length != 0 {
			length = 1
		}
		return x.Add(x.Delay(1, length))
	}
	without := func(key string, v parts.Variant) Config { // a kind without Step
		c := withOwn(7, func(_ nn.Site, l nn.Layer) nn.Layer { return l })
		v.Name = "own"
		c.Parts = parts.Registry{
			Kinds: []parts.Kind{
				{Key: key, Variants: func() []parts.Variant { return []parts.Variant{{Name: "none"}, v} }},
			},
		}
		c.With.Set(key, "own")
		return c
	}
	embedding := without("shift", parts.Variant{Embed: func() parts.NewEmbed {
		return func(at nn.Site, _ int) nn.Embedder {
			return nn.Embedded(forwardOnly(func(x graph.Expr) graph.Expr { return previous(at, x) }))
		}
	}})
	link := without("shift", parts.Variant{After: parts.Apart(func(at nn.Site, _ fused.AttentionShape) nn.Link {
		return nn.LinkFunc(func(in nn.Inside) graph.Expr { return previous(at, in.Y) })
	})})
	for name, tc := range map[string]struct {
		c    Config
		want string
	}{
		"an embedding of our own": {embedding, "embeddings"},
		"a link of our own":       {link, "h.0.attn"},
		"scaled":                  {withOwn(7, second(scaled)), "h.1.attn"},
		"of a long context":       {withOwn(40, second(scaled)), "h.1.attn"},
		"more everywhere":         {withOwn(7, second(more)), "h.1.attn"},
		"of one token":            {withOwn(1, second(scaled)), "h.1.attn"},
		"something else":          {withOwn(8, second(other)), "h.1.attn"},
		"no few tokens":           {withOwn(21, picky), "h.1.attn"},
		"from token 20 on":        {withOwn(40, late), "h.1.attn"},
		"a block of our own":      {block, "h.0"},
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
		decodesEdited(
			t, c, map[string]func(graph.Expr) graph.Expr{"h.0": at, "h.1.attn.heads": at, "h.1.mlp.act": at, "wte": at},
			true,
		)
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
