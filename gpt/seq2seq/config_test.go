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
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
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
		{func(c *Config) { c.NHead, c.QKSize = 3, 5 }, "n_head: 3 heads do not divide n_embd 16"},
		{func(c *Config) { c.NHead = 17 }, "n_head: 17 heads do not divide n_embd 16"},
		{func(c *Config) { c.NEmbd = 0 }, "n_embd: got 0"},
		{func(c *Config) { c.QKSize = -1 }, "qk_size: got -1, want a whole number, 0 to 268435456"},
		{func(c *Config) { c.Dropout = 1 }, "dropout: got 1, want a number, 0 ≤ x < 1"},
		{func(c *Config) { c.Dropout = math.NaN() }, "dropout: got NaN"},
		{func(c *Config) { c.Eps = -1 }, "eps: got -1"},
		{func(c *Config) { c.Activation = "swish" }, `activation: got swish, want one of gelu, gelu_tanh, relu`},
		{func(c *Config) { c.Norm = "batch" }, `norm: got batch, want one of layernorm, layernorm_sigma`},
		{func(c *Config) { c.Block = "mid" }, `block: got mid, want one of pre, post`},
		{
			func(c *Config) { c.Position = "left" },
			`position: got left, want one of learned, sinusoidal, rope, alibi, none`,
		},
		{func(c *Config) {
			c.Position, c.NEmbd = "sinusoidal", 15
			c.NHead = 3
		}, "n_embd: got 15, want an even number, such as 16"},
		{func(c *Config) { c.Position, c.QKSize = "rope", 3 }, "qk_size: got 3, want an even number, such as 4"},
		{func(c *Config) { c.BatchSize = 0 }, "batch_size: got 0"},
		{func(c *Config) { c.LearningRate = math.Inf(1) }, "learning_rate: got +Inf"},
		{func(c *Config) { c.MinLR = 1 }, "min_lr: got 1, want at most learning_rate 0.005"},
		{func(c *Config) { c.GradClip = math.NaN() }, "grad_clip: got NaN"},
		{
			func(c *Config) { c.Attention = "causal" },
			`attention: got causal, want one of full, window, linear, taylor, linformer`,
		},
		{func(c *Config) { c.Attention = "window" }, "window: got 0, want a whole number, 1 to"},
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
			c.Attention = "linear"
			c.Position = "alibi"
		}, "position: got alibi, want another with attention linear"},
		{func(c *Config) {
			c.Attention = "taylor"
			c.Position = "alibi"
		}, "position: got alibi, want another with attention taylor"},
		{func(c *Config) {
			c.Attention = "linformer"
			c.Position = "alibi"
		}, "position: got alibi, want another with attention linformer"},
		{func(c *Config) { c.Beta1 = 1 }, "beta1: got 1, want a number, 0 ≤ x < 1"},
		{func(c *Config) { c.Beta2 = 1 }, "beta2: got 1, want a number, 0 ≤ x < 1"},
		{func(c *Config) { c.VSize = 1<<28 + 1 }, "v_size: got 268435457, want a whole number, 0 to 268435456"},
	} {
		c := small()
		tc.change(&c)
		if _, err := NewTrainer(c, backwards{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("got error %v, want %s", err, tc.want)
		}
	}
	if err := small().Validate(); err != nil {
		t.Error(err)
	}
	odd := small()
	odd.NHead, odd.QKSize, odd.VSize = 3, 5, 7
	if _, err := New(graph.New(graph.Float32, 1), odd, 1); err != nil {
		t.Error(err)
	}
}

// Every field has a flag and a key of the same name, and both carry every value.
func TestConfigNames(t *testing.T) {
	c := small()
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(fs)
	groups := []string{"Rope", "Experts", "Sublayers"}
	fields := slices.DeleteFunc(reflect.VisibleFields(reflect.TypeFor[Config]()), func(f reflect.StructField) bool {
		return f.Anonymous || slices.Contains([]string{"Options", "With", "Parts", "Context"}, f.Name) ||
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

func TestResumeDiff(t *testing.T) {
	c := small()
	same := c.Resolved()
	same.MaxIters, same.Threads = 7, 2
	if err := c.ResumeDiff(same); err != nil {
		t.Error(err)
	}
	other := c
	other.NEmbd, other.LearningRate = 32, 1
	err := c.ResumeDiff(other)
	for _, want := range []string{"n_embd: got 16, want 32 as saved", "learning_rate: got 0.005, want 1 as saved"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

func TestLearningRate(t *testing.T) {
	c := Config{
		Training: train.Training{LearningRate: 1, MinLR: 0.2, WarmupIters: 4, DecayLR: true},
		Run:      train.Run{MaxIters: 14},
	}
	for it, want := range map[int]float64{0: .2, 3: .8, 4: 1, 9: .6, 14: .2, 20: .2} {
		if got := c.scheduled().RateAt(it); !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("iteration %d: got %v, want %v", it, got, want)
		}
	}
}

func TestVocabulary(t *testing.T) {
	for _, tc := range []struct {
		unit, text string
		size       int
		unknown    string
	}{
		{"words", "forty-two  thousand and forty-two", 3, "ninety"},
		{"characters", "ventitré è", 9, "q"},
	} {
		v, err := NewVocabulary(tc.unit)
		if err != nil {
			t.Fatal(err)
		}
		n := v.Add(tc.text)
		ids, err := v.Encode(tc.text)
		if err != nil || len(ids) != n || v.Size() != specials+tc.size || slices.Min(ids) < specials {
			t.Errorf("%s: ids %v of %d, size %d, %v", tc.unit, ids, n, v.Size(), err)
		}
		if got, want := v.Decode(ids), strings.Join(strings.Fields(tc.text), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if _, err := v.Encode(tc.unknown); err == nil || !strings.Contains(err.Error(), tc.unknown) {
			t.Errorf("got error %v", err)
		}
		if _, err := v.Encode("<pad>"); err == nil {
			t.Error("a special token can be written")
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		again := new(Vocabulary)
		if err := json.Unmarshal(data, again); err != nil || again.Decode(ids) != v.Decode(ids) ||
			again.Size() != v.Size() {
			t.Errorf("%v: %s", err, data)
		}
	}
	if _, err := NewVocabulary("syllables"); err == nil ||
		!strings.Contains(err.Error(), `got unit "syllables", want one of words, characters`) {
		t.Errorf("got error %v", err)
	}
	for _, tokens := range []string{
		`"words","tokens":[""]`, `"words","tokens":["a b"]`, `"characters","tokens":[""]`,
		`"characters","tokens":["ab"]`,
	} {
		mustSay(
			t, json.Unmarshal([]byte(`{"unit":`+tokens+`}`), new(Vocabulary)), "vocabulary: got token ",
			"want one of the ",
		)
	}
	if err := json.Unmarshal([]byte(`{"unit":"words","tokens":["a","a"]}`), new(Vocabulary)); err == nil ||
		!strings.Contains(err.Error(), `"a" appears twice`) {
		t.Errorf("got error %v", err)
	}
}
