package gpt

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
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
		Positions: []parts.Position{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Placement { return nn.Placement{} }}},
		Attentions: []parts.Attention{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer { return bare{nn.NewSelfAttention(at)} }
		}}},
		Norms:       []parts.Norm{{Name: "ours", New: func(at nn.Site) nn.Layer { at.Eps = 0.5; return nn.NewLayerNorm(at) }}},
		Blocks:      []parts.Block{{Name: "ours", New: func(at nn.Site, a nn.Attention) nn.Layer { return nn.NewBlock(at, a) }, Final: true}},
		MLPs:        []parts.MLP{{Name: "ours", New: func(at nn.Site) nn.Layer { return newGated(at) }}},
		Activations: []parts.Activation{{Name: "ours", Layer: nn.ReLU{}}},
		Heads:       []parts.Head{{Name: "ours", New: func(at nn.Site, _ int, wte *nn.Embedding) nn.Layer { return scaled{nn.NewTied(at.Scope, wte)} }}},
		Optimizers:  []parts.Optimizer{{Name: "ours", New: momentumless}},
		Schedules:   []train.Schedule{{Name: "ours", Rate: halving}},
	}
	return c
}

// halving halves the learning rate after every step.
func halving(t train.Training, it int) float64 { return math.Ldexp(t.LearningRate, -it) }

// named sets every part of a stack to that of ours.
func named(s parts.Stack) parts.Stack {
	s.Position, s.Attention, s.Norm, s.Block, s.MLP, s.Activation = "ours", "ours", "ours", "ours", "ours", "ours"
	return s
}

// gated is an MLP with a gate: (silu-like) act(x·w) ∘ x·v, back to d.
type gated struct{ gate, up, down, act nn.Layer }

func newGated(at nn.Site) *gated {
	affine := func(name string, in, out int) nn.Layer {
		return at.Affine(at.Sub("%s", name), in, []int{out}, at.Bias, graph.Normal(0.02))
	}
	return &gated{affine("c_gate", at.Embd, at.Inner), affine("c_fc", at.Embd, at.Inner), affine("c_proj", at.Inner, at.Embd), at.Act}
}

func (l *gated) Forward(x graph.Expr) graph.Expr {
	return l.down.Forward(l.act.Forward(l.gate.Forward(x)).Mul(l.up.Forward(x)))
}

// momentumless is SGD without its momentum.
func momentumless(train.Training) optim.Rule { return optim.SGD{} }

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
	c.Parts.Norms = []parts.Norm{{Name: "layernorm", New: func(at nn.Site) nn.Layer { at.Eps = 0.5; return nn.NewLayerNorm(at) }}}
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
		{func(c *Config) { c.Attention = "alternating"; c.Options.Set("window", 8) }, "window: got 8, want 1 to block_size 7"},
		{func(c *Config) { c.Position = "rope" }, "qk_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.Position, c.NEmbd = "sinusoidal", 9 }, "n_embd: got 9, want an even number, such as 10"},
		{func(c *Config) { c.Attention, c.Position, c.QKSize = "linear", "rope", 4 }, "position: got rope, want another with attention linear"},
		{func(c *Config) { c.Attention, c.Position = "taylor", "alibi" }, "position: got alibi, want another with attention taylor"},
		{func(c *Config) { c.Attention = "bigbird"; c.Options.Set("window", 3); c.Options.Set("random_keys", 8) }, "random_keys: got 8, want at most block_size 7"},
		{func(c *Config) { c.Attention = "dilated"; c.Options.Set("window", 3); c.Options.Set("dilation", 8) }, "dilation: got 8, want at most block_size 7"},
		{func(c *Config) { c.Attention, c.NHead = "gqa", 6; c.Options.Set("n_kv_head", 4) }, "n_kv_head: got 4, want a divisor of n_head 6"},
		{func(c *Config) { c.Attention, c.NHead = "gqa_bias", 6; c.Options.Set("n_kv_head", 12) }, "n_kv_head: got 12, want a divisor of n_head 6"},
		{func(c *Config) { c.Attention = "mla_rope"; c.Options.Set("rope_size", 3) }, "rope_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.Attention, c.Position, c.QKSize = "mla_rope", "rope", 4 }, "position: got rope, want another with attention mla_rope"},
		{func(c *Config) { c.Block, c.Attention = "elman", "linear" }, "attention: got linear, want the default, causal, with block elman, which has none"},
		{func(c *Config) { c.Block, c.Norm = "elman", "layernorm_plain" }, "norm: got layernorm_plain, want the default, layernorm, with block elman"},
		{func(c *Config) { c.Block, c.Activation = "elman", "relu" }, "activation: got relu, want the default, gelu, with block elman"},
		{func(c *Config) { c.Block, c.Position = "elman", "alibi" }, "position: got alibi, want learned, sinusoidal or none with block elman"},
		{func(c *Config) { c.NHead, c.QKSize = 3, 0 }, "n_head: 3 heads do not divide n_embd 10"},
		{func(c *Config) { c.Attention = "linformer" }, "attention: got linformer, want a causal one: its keys are mixtures of all block_size 7 tokens"},
		{func(c *Config) { c.Attention = "full" }, "attention: got full, want one of causal, sigmoid, forgetting, diff, gqa"},
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
	for how, layer := range map[string]func(nn.Site) nn.Layer{"its New": broken, "its Forward": fragile, "no layer": nothing, "no function": nil} {
		for kind, c := range map[string]struct {
			r    parts.Registry
			want []string // the part by kind and name, or its place
		}{
			"attention": {parts.Registry{Attentions: []parts.Attention{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return layer }}}}, []string{`attention "ours"`, "h.0.attn: "}},
			"norm":      {parts.Registry{Norms: []parts.Norm{{Name: "ours", New: layer}}}, []string{"norm: got ours", "h.0.ln_1: ", "ln_f"}},
			"mlp":       {parts.Registry{MLPs: []parts.MLP{{Name: "ours", New: layer}}}, []string{"mlp: got ours", "h.0.mlp: "}},
			"block": {parts.Registry{Blocks: []parts.Block{{Name: "ours", Final: true, New: func(at nn.Site, _ nn.Attention) nn.Layer { return layer(at) }}}},
				[]string{"h.0: "}},
			"head": {parts.Registry{Heads: []parts.Head{{Name: "ours", New: func(at nn.Site, _ int, _ *nn.Embedding) nn.Layer { return layer(at) }}}},
				[]string{"lm_head: "}},
			"activation": {parts.Registry{Activations: []parts.Activation{{Name: "ours", Layer: glass{}}}}, []string{"h.0.mlp.act: "}},
			"position": {parts.Registry{Positions: []parts.Position{{Name: "ours", New: func(at nn.Site, _ parts.Stack) nn.Placement {
				return nn.Placement{Layer: layer(at)}
			}}}}, []string{`position "ours"`, "position: "}},
			"optimizer": {parts.Registry{Optimizers: []parts.Optimizer{{Name: "ours", New: func(train.Training) optim.Rule {
				panic("glass")
			}}}}, []string{`optimizer "ours"`}},
		} {
			config := tiny()
			config.Parts = c.r
			for field, to := range map[string]*string{"attention": &config.Attention, "norm": &config.Norm, "mlp": &config.MLP, "block": &config.Block,
				"head": &config.Head, "activation": &config.Activation, "position": &config.Position, "optimizer": &config.Optimizer} {
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
		c.Parts.Attentions = []parts.Attention{{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return layer }}}
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
		c.Parts.Heads = []parts.Head{{Name: "ours", New: func(at nn.Site, _ int, _ *nn.Embedding) nn.Layer { return l }}}
		return c, "lm_head"
	}
	c.Position = "ours"
	c.Parts.Positions = []parts.Position{{Name: "ours", New: func(at nn.Site, _ parts.Stack) nn.Placement { return nn.Placement{Layer: l} }}}
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
		"a column less": {func(x graph.Expr) graph.Expr { return x.Cols(0, x.Shape()[1]-1) }, func() string { return "got shape (" }},
		"a sum":         {func(x graph.Expr) graph.Expr { return x.Sum() }, func() string { return "got shape (" }},
		"a product":     {func(x graph.Expr) graph.Expr { return x.MatMul(x) }, func() string { return "matmul (" }},
		"a panic": {func(x graph.Expr) graph.Expr { _, _, line, _ = runtime.Caller(0); return x.Cols(0, x.Shape()[7]) }, func() string {
			return fmt.Sprintf("panic: runtime error: index out of range [7] with length 2 at %s:%d", thisFile(), line)
		}},
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
	lone := parts.Block{Name: "own", Final: true, New: func(at nn.Site, _ nn.Attention) nn.Layer { return nn.NewMLP(at) }}
	run := newTrainer(t, tiny())
	for name, c := range map[string]struct {
		position  string
		attention parts.Attention
		block     parts.Block
		want      string
	}{
		"still":        {"rope", still, parts.Block{}, "position: got rope, and attention own in block pre never calls Rotate of its Site's Rotary: want an attention that does, such as causal, or position learned"},
		"unbiased":     {"alibi", unbiased, parts.Block{}, "position: got alibi, and attention own in block pre never uses its Site's Mask or Scores: want an attention"},
		"no attention": {"rope", parts.Attention{}, lone, "position: got rope, and attention causal in block own never calls Rotate"},
		"no scores":    {"alibi", parts.Attention{}, lone, "position: got alibi, and attention causal in block own never uses"},
		"rotating":     {"rope", unbiased, parts.Block{}, ""},
		"biased":       {"alibi", biased, parts.Block{}, ""},
		"other masks":  {"alibi", still, parts.Block{}, ""},
		"learned":      {"learned", still, parts.Block{}, ""},
		"none":         {"none", unbiased, lone, ""},
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
	mustContain(t, begin(c), "window: got 4, which attention causal does not read, want 0 or attention gqa_window, window, ")
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
	for _, c := range []Config{Shakespeare(), Modern(), Baby(), GPT2(), Paper(), DistilGPT2(), SmolLM2_135M(), Stories15M()} {
		c.Attention, c.VocabSize = "causal", max(c.VocabSize, 65)
		if err := c.ValidateModel(); err != nil {
			t.Errorf("a recipe with another attention: %v", err)
		}
	}
}

// The number of heads that share keys and values comes from the part, whatever its name.
func TestGroupsOfOwnAttention(t *testing.T) {
	gqa := parts.Find(parts.Attentions(), "gqa")
	gqa.Name = "own"
	c := tiny()
	c.NHead, c.NEmbd, c.Attention, c.Parts.Attentions = 4, 16, "own", []parts.Attention{gqa, {Name: "gqa_not", New: parts.Find(parts.Attentions(), "causal").New}}
	c.Options.Set("n_kv_head", 2)
	if got := c.heads().Groups; got != 2 {
		t.Errorf("got %d groups, want 2", got)
	}
	if c.Attention = "gqa_not"; c.heads().Groups != 4 {
		t.Errorf("got %d groups, want those of the 4 heads", c.heads().Groups)
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

// An option of another optimizer is refused; that of one's own is not.
func TestOptionsOfOptimizers(t *testing.T) {
	c := tiny()
	for name, tc := range map[string]struct {
		set  func()
		want string
	}{
		"a number":   {func() { c.MuonSteps = 3 }, "muon_steps: got 3, which optimizer adamw does not read, want optimizer muon"},
		"a fraction": {func() { c.MuonMomentum = 0.5 }, "muon_momentum: got 0.5, which optimizer adamw does not read"},
		"a name":     {func() { c.MuonScale = "spectral" }, "muon_scale: got spectral, which optimizer adamw does not read"},
		"muon":       {func() { c.Optimizer, c.MuonSteps, c.MuonMomentum, c.MuonScale = "muon", 3, 0.5, "spectral" }, ""},
		"soap":       {func() { c.ShampooBeta = 0.5 }, "shampoo_beta: got 0.5, which optimizer adamw does not read, want optimizer soap"},
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
