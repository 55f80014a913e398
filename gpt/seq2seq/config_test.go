package seq2seq

import (
	"encoding/json"
	"flag"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Every impossible Config is an error that names the field, its value and what it must be; nothing is built then.
func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.SourceSize = 0 }, "source_size: got 0, want a whole number, 1 to"},
		{func(c *Config) { c.TargetSize = -3 }, "target_size: got -3"},
		{func(c *Config) { c.SourceVocab = 1 << 40 }, "source_vocab: got 1099511627776"},
		{func(c *Config) { c.TargetVocab = 0 }, "target_vocab: got 0"},
		{func(c *Config) { c.NLayer = 0 }, "n_layer: got 0"},
		{func(c *Config) { c.NHead = 0 }, "n_head: got 0"},
		{func(c *Config) { c.NHead = 3 }, "n_head: 3 heads do not divide n_embd 16; set both"},
		{func(c *Config) { c.Dropout = 1 }, "dropout: got 1, want a number, 0 ≤ x < 1"},
		{func(c *Config) { c.Block = "mid" }, `block: got mid, want one of pre, post`},
		{
			func(c *Config) { c.Position = "left" },
			`position: got left, want one of learned, sinusoidal, rope, alibi, none`,
		},
		{func(c *Config) { c.Position, c.QKSize = "rope", 3 }, "qk_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.MuonSteps = 3 }, "muon_steps: got 3"},
		{func(c *Config) { c.BatchSize = 0 }, "batch_size: got 0"},
		{func(c *Config) { c.LearningRate = math.Inf(1) }, "learning_rate: got +Inf"},
		{func(c *Config) { c.MinLR = 1 }, "min_lr: got 1, want at most learning_rate 0.005"},
		{
			func(c *Config) { c.Attention = "causal" },
			`attention: got causal, want one of full, window, linear, taylor, linformer`,
		},
		{func(c *Config) { c.Attention = "window" }, "window: got 0, want a whole number, 1 to"},
		{func(c *Config) { c.Options.Set("window", 3) }, "window: got 3, which attention full does not read"},
		{func(c *Config) { c.Options.Set("mixed_keys", 3) }, "mixed_keys: got 3, which attention full does not read"},
		{
			func(c *Config) { c.Attention = "linformer"; c.Options.Set("mixed_keys", 6) },
			"mixed_keys: got 6, want a whole number, 1 to source_size 5",
		},
		{func(c *Config) {
			c.Attention = "linear"
			c.Position = "rope"
		}, "position: got rope, want another with attention linear"},
		{func(c *Config) {
			c.Attention = "linformer"
			c.Position = "rope"
		}, "position: got rope, want another with attention linformer"},
		{func(c *Config) {
			c.Attention = "taylor"
			c.Position = "alibi"
		}, "position: got alibi, want another with attention taylor"},
	} {
		c := small()
		tc.change(&c)
		mustSay(t, second(NewTrainer(c, backwards{})), tc.want)
	}
	c := small()
	c.NHead, c.QKSize, c.VSize = 3, 5, 7
	check(t, c.Validate())
	c = small() // a part that is not used is refused when the model is built
	c.QKSize, c.Position, c.Attention = 4, "rope", "own"
	c.Parts.Attentions = []parts.Attention{{Name: "own", New: func(nn.Site, parts.Stack) nn.Attention {
		return func(at nn.Site) nn.Layer { at.Rotary = nil; return nn.NewSelfAttention(at) }
	}}}
	mustSay(t, second(New(graph.New(graph.Float32, 1), c, 2)), "position: got rope, and attention own in block pre")
	for size, want := range map[int]int{1: 1, 6: 3, 7: 4, 12: 6} { // half of the source
		c := small()
		c.SourceSize, c.Attention = size, "linformer"
		if got := c.Resolved().Options.Get("mixed_keys"); got != want {
			t.Errorf("%d tokens: got %d mixed keys, want %d", size, got, want)
		}
	}
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, 5: true, 6: false} {
		if err := checkMixedKeys(n, nn.Dims{Context: 5}); (err == nil) != ok {
			t.Errorf("mixed_keys %d: got %v", n, err)
		}
		if err := checkWindow(n, nn.Dims{}); (err == nil) != (n >= 1) {
			t.Errorf("window %d: got %v", n, err)
		}
	}
	for _, name := range []string{"source_size", "target_size", "source_vocab", "target_vocab"} {
		f, found := c.fields().Find(name)
		for v, ok := range map[string]bool{"1": true, "268435456": true, "0": false, "-1": false, "268435457": false} {
			if err := f.Decode([]byte(v)); !found || err != nil || (f.Check() == nil) != ok {
				t.Errorf("%s of %s: got %v, %v", name, v, err, f.Check())
			}
		}
	}
}

// Every field has a flag and a key of the same name, and both carry every value.
func TestConfigNames(t *testing.T) {
	c := small()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs)
	groups := []string{"Rope", "Experts", "Sublayers"}
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[Config]()), func(f reflect.StructField) bool {
		return f.Anonymous || slices.Contains([]string{"Options", "With", "Parts", "Context", "DrawnTokens"}, f.Name) ||
			slices.Contains(groups, f.Name)
	})
	for _, group := range []reflect.Type{
		reflect.TypeFor[parts.Rope](), reflect.TypeFor[parts.Experts](), reflect.TypeFor[parts.Sublayers](),
	} {
		fields = append(fields, reflect.VisibleFields(group)...)
	}
	for _, f := range fields {
		name := strings.ReplaceAll(strings.ToLower(f.Name), "_", "")
		if !slices.ContainsFunc(c.fields().Names(), func(s string) bool {
			key := strings.ReplaceAll(s, "_", "")
			return (key == name || key == "rope"+name) && fs.Lookup(s) != nil
		}) {
			t.Errorf("%s has no flag", f.Name)
		}
	}
	if err := fs.Parse([]string{"-n_layer", "5", "-block", "post", "-dropout", "0.25", "-kernels=false"}); err != nil {
		t.Fatal(err)
	}
	if c.NLayer != 5 || c.Block != "post" || c.Dropout != 0.25 || c.Kernels {
		t.Errorf("got %+v", c)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Config
	err = json.Unmarshal(data, &again)
	if diff := cmp.Diff(c, again); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

// A run may be resumed with another length; a zero equals its default. The cosine ends at max_iters, after the warm-up.
func TestResumeDiff(t *testing.T) {
	c := small()
	same := c.Resolved()
	same.MaxIters, same.Threads = 7, 2
	check(t, c.ResumeDiff(same))
	if want := parts.Names(parts.Optimizers())[0]; same.Optimizer != want || same.Precision != graph.Precisions()[0] {
		t.Errorf("got optimizer %q and precision %q by default", same.Optimizer, same.Precision)
	}
	other := c
	other.NEmbd, other.LearningRate = 32, 1
	mustSay(t, c.ResumeDiff(other), "n_embd: got 16, want 32 as saved", "learning_rate: got 0.005, want 1 as saved")
	for _, tc := range []struct{ warmup, decay, want int }{{5, 0, 60}, {59, 0, 60}, {60, 0, 61}, {5, 20, 20}} {
		c.WarmupIters, c.LRDecayIters = tc.warmup, tc.decay
		if got := c.scheduled().LRDecayIters; got != tc.want {
			t.Errorf("%+v: got lr_decay_iters %d", tc, got)
		}
	}
}
