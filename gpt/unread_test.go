package gpt

import (
	"flag"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

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
	mustContain(t, begin(c), "window: got 4, which attention causal does not read, want 0 or attention window, ")
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
	for _, c := range []Config{Shakespeare(), Baby(), GPT2(), Paper(), DistilGPT2(), SmolLM2_135M(), Stories15M()} {
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
