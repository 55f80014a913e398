package gpt

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// shakespeare65 returns a preset with its vocabulary resolved.
func shakespeare65() Config {
	c := Shakespeare()
	c.VocabSize = 65
	return c
}

// unusual returns a configuration in which no field has its preset's value, so that a lost field is detected.
func unusual() Config {
	c := Config{
		Network: Network{
			Stack: parts.Stack{
				NLayer: 3, NHead: 5, NEmbd: 29, Dropout: 0.125, Bias: true,
				QKSize: 7, VSize: 11, NInner: 53, Activation: "gelu_tanh", Eps: 1e-7, Block: "post",
				Rope:     parts.Rope{Theta: 500},
				Position: "none", Attention: "window", Norm: "layernorm_plain",
			},
			BlockSize: 31, VocabSize: 67, Head: "linear",
			Adapters: Adapters{
				LoraR: 2, LoraAlpha: 3.5, LoraTargets: []string{"c_attn", "mlp.c_proj"}, LoraScale: "alpha",
			},
		},
		Training: train.Training{
			BatchSize: 13, GradientAccumulationSteps: 4, LearningRate: 0.30000000000000004, Optimizer: "sgd",
			WeightDecay: 0.01,
			Beta1:       0.8, Beta2: 0.95, GradClip: 0.5, DecayLR: false, WarmupIters: 17, LRDecayIters: 888,
			MinLR: 1e-6,
			Seed:  math.MaxUint64, Kernels: false,
		},
		Run: train.Run{
			MaxIters: 999, EvalInterval: 19, EvalIters: 21, LogInterval: 23, OutDir: "a \"b\" <é>", Threads: 2,
			Recompute: true,
		},
	}
	c.Options.Offer("window", 9)
	return c
}

func TestConfigJSONRoundTrip(t *testing.T) {
	for _, want := range []Config{Shakespeare(), Modern(), LLaMA(), Baby(), Paper(), GPT2(), unusual()} {
		var b bytes.Buffer
		if err := WriteConfig(&b, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadConfig(bytes.NewReader(b.Bytes()), unusual())
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		var again Config
		if err := json.Unmarshal(b.Bytes(), &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again); diff != "" {
			t.Errorf("json.Unmarshal: -want +got:\n%s", diff)
		}
	}
}

// The keys have the table's order, with one for each field of Config.
func TestConfigJSONOrder(t *testing.T) {
	data, err := json.Marshal(unusual())
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"block_size":31,"vocab_size":67,"n_layer":3,"n_head":5,"n_embd":29,"dropout":0.125,"bias":true,` +
		`"qk_size":7,"v_size":11,"n_inner":53,"eps":1e-7,"rope_theta":500,` +
		`"lora_r":2,"lora_alpha":3.5,"lora_targets":["c_attn","mlp.c_proj"],"lora_scale":"alpha",` +
		`"position":"none","attention":"window","norm":"layernorm_plain","block":"post","activation":"gelu_tanh","head":"linear",` +
		`"window":9,"dilation":0,"global_tokens":0,"random_keys":0,"latent_size":0,"q_latent_size":0,"rope_size":0,` +
		`"batch_size":13,"gradient_accumulation_steps":4,"learning_rate":0.30000000000000004,"max_iters":999,"optimizer":"sgd","weight_decay":0.01,` +
		`"beta1":0.8,"beta2":0.95,"grad_clip":0.5,"decay_lr":false,"warmup_iters":17,"lr_decay_iters":888,"min_lr":0.000001,` +
		`"eval_interval":19,"eval_iters":21,"log_interval":23,"seed":18446744073709551615,"out_dir":"a \"b\" \u003cé\u003e","threads":2,"kernels":false,"recompute":true}`
	if diff := cmp.Diff(text, string(data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	c := unusual()
	want := reflect.TypeFor[Network]().NumField() - 3 + reflect.TypeFor[parts.Scaling]().NumField() - 1 +
		reflect.TypeFor[parts.Multipliers]().NumField() + reflect.TypeFor[parts.Stack]().NumField() - 5 +
		reflect.TypeFor[parts.Rope]().NumField() + reflect.TypeFor[parts.Experts]().NumField() +
		reflect.TypeFor[parts.Sublayers]().NumField() + len(parts.Kinds()) + len(c.OptionFields(c.known())) +
		// without Context, with Carry
		reflect.TypeFor[Adapters]().NumField() + reflect.TypeFor[train.Training]().NumField() +
		reflect.TypeFor[train.Run]().NumField() - 1 + 1
	if got := len(c.fields()); got != want {
		t.Errorf("the table has %d rows, want one for each of %d fields without Parts, Hooks and Context", got, want)
	}
}

// Every field is the same after writing it as a flag and parsing it, and the help contains all fields.
func TestConfigFlagsRoundTrip(t *testing.T) {
	for _, want := range []Config{unusual(), Shakespeare(), GPT2()} {
		var args []string
		for _, f := range want.fields() {
			args = append(args, "-"+f.Name+"="+f.String())
		}
		got := unusual()
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		got.Flags(fs)
		var help strings.Builder
		fs.SetOutput(&help)
		fs.PrintDefaults()
		if err := fs.Parse(args); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		for _, f := range want.fields() {
			if !strings.Contains(help.String(), "-"+f.Name) || !strings.Contains(help.String(), f.Help) {
				t.Errorf("help lacks -%s %s", f.Name, f.Help)
			}
		}
	}
}

// Flags override a file when the arguments are parsed again after reading it.
func TestConfigFlagsOverFile(t *testing.T) {
	c := Shakespeare()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	c.Flags(fs)
	args := []string{"-n_layer", "2", "-lora_targets", "c_fc"}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	var err error
	if c, err = ReadConfig(
		strings.NewReader(`{"n_layer": 7, "n_head": 8, "lora_targets": ["c_attn"]}`), c,
	); err != nil {
		t.Fatal(err)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	want := Shakespeare()
	want.NLayer, want.NHead, want.LoraTargets = 2, 8, []string{"c_fc"}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Reading a list must not change the base's list.
func TestReadConfigKeepsBase(t *testing.T) {
	base := unusual()
	if _, err := ReadConfig(
		strings.NewReader(`{"n_layer": 9, "lora_targets": ["lm_head", "c_fc"]}`), base,
	); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unusual(), base); diff != "" {
		t.Errorf("the base changed: -want +got:\n%s", diff)
	}
	if err := base.UnmarshalJSON([]byte(`{"n_layer": 9, "n_head": "x"}`)); err == nil {
		t.Error("n_head: got no error")
	}
	if diff := cmp.Diff(unusual(), base); diff != "" {
		t.Errorf("an error changed the Config: -want +got:\n%s", diff)
	}
	if _, err := ReadConfig(io.LimitReader(zeros{}, 1<<40), base); err == nil ||
		!strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless file: got %v, want longer than", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestConfigResolved(t *testing.T) {
	var c Config
	c.NEmbd, c.NHead, c.LoraR = 48, 3, 4
	want := c
	want.QKSize, want.VSize, want.NInner = 16, 16, 192
	want.Activation, want.Eps, want.Block, want.Rope.Theta = "gelu", 1e-5, "pre", 10_000
	want.Position, want.Attention, want.Norm, want.Head = "learned", "causal", "layernorm", "linear"
	want.LoraAlpha, want.LoraScale, want.Optimizer, want.Precision, want.MLP = 4, "alpha/r", "adamw", "float32", "mlp"
	want.Schedule, want.Parametrization = "constant", "standard"
	want.Rope.Scaling, want.FutureTokens, want.Experts.ScoringFunc = "none", 1, "softmax"
	for _, k := range parts.Kinds() {
		want.With.Set(k.Key, "none")
	}
	want.With.Set("initialization", "scaled_proj")
	want.LoraTargets = []string{"c_attn", "c_proj", "c_fc", "lm_head"}
	if diff := cmp.Diff(want, c.Resolved()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	given := unusual()
	given.Rope.Scaling, given.FutureTokens, given.With = "none", 1, want.With
	given.MLP, given.Precision, given.Schedule = "mlp", "float32", "constant"
	given.Parametrization, given.Experts.ScoringFunc = "standard", "softmax"
	if diff := cmp.Diff(given, given.Resolved()); diff != "" {
		t.Errorf("given values changed: -want +got:\n%s", diff)
	}
	var tied Config
	tied.LoraR, tied.Head = 4, "tied"
	if tied.Resolved().adapts("lm_head") {
		t.Error("a tied head is adapted by default")
	}
	c.LoraTargets = []string{"attn.c_proj"}
	for layer, want := range map[string]bool{
		"h.3.attn.c_proj": true, "attn.c_proj": true, "h.3.mlp.c_proj": false, "c_proj": false,
		"h.3.xattn.c_proj": false,
	} {
		if got := c.Resolved().adapts(layer); got != want {
			t.Errorf("Adapts(%s): got %v, want %v", layer, got, want)
		}
	}
}

// Exactly these fields may differ on resume.
func TestConfigResumeDiff(t *testing.T) {
	may := map[string]bool{
		"max_iters": true, "eval_interval": true, "eval_iters": true, "patience": true, "log_interval": true,
		"threads": true, "out_dir": true, "recompute": true, "memory_limit": true, "shard_optimizer": true,
	}
	plain, odd := Shakespeare(), unusual()
	odd.Precision, odd.Schedule, odd.CooldownIters, odd.EMA = "bf16", "wsd", 5, 0.5
	odd.Patience, odd.Sublayers.AttnLogitSoftcapping = 3, 50
	odd.MuonMomentum, odd.MuonSteps, odd.MuonScale = 0.5, 7, "spectral"
	odd.PreconditionFrequency, odd.ShampooBeta, odd.MaxPrecondDim = 3, 0.5, 99
	odd.Rope.NoRopeLayerInterval, odd.Rope.PartialRotaryFactor = 3, 0.5
	odd.Rope.Scaling, odd.Rope.Factor, odd.Rope.Original = "yarn", 4, 32
	odd.Rope.BetaFast, odd.Rope.BetaSlow, odd.Rope.Unrounded, odd.Rope.AttentionFactor = 16, 2, true, 1.5
	odd.Rope.ShortFactor, odd.Rope.LongFactor = "1,2", "3,4"
	odd.FutureTokens, odd.Carry = 3, true
	odd.Sublayers.AttentionBias, odd.Sublayers.MLPBias = true, true
	odd.LogitCap, odd.LabelSmoothing, odd.ZLoss = 30, 0.25, 0.5
	odd.Scaling = parts.Scaling{
		Parametrization: "mup", BaseWidth: 7, BaseDepth: 5, BaseHead: 3,
		Multipliers: parts.Multipliers{
			EmbeddingMultiplier: 3, AttentionMultiplier: 0.5, ResidualMultiplier: 0.25, LogitsScaling: 2,
		},
	}
	odd.Rope.LocalBaseFreq = 99
	odd.Experts.NumExperts, odd.Experts.NumExpertsPerTok, odd.Experts.NSharedExperts = 5, 3, 1
	odd.Experts.NormTopKProb, odd.Experts.RouterAuxLossCoef = true, 0.5
	odd.Experts.RouterBiasUpdateRate, odd.LoraFused = 0.01, true
	odd.Experts.SwigluLimit = 3
	odd.Experts.ScoringFunc = "sigmoid"
	odd.MemoryLimit, odd.Frozen, odd.ShardOptimizer = 50.5, []string{"h.0.*", "wte.*"}, true
	saved, other := plain.fields(), odd.fields()
	for i := range saved {
		c := Shakespeare()
		f := c.fields()[i]
		if slices.Contains(c.OptionFields(c.known()).Names(), f.Name) || f.Name == "mlp" || f.Name == "rope_scaling" ||
			slices.ContainsFunc(parts.Kinds(), func(k parts.Kind) bool { return k.Key == f.Name }) {
			continue // only some attentions have it: TestConfigOptions; these have one value in both
		}
		if saved[i].String() == other[i].String() {
			t.Fatalf("%s: the test's two values are equal", f.Name)
		}
		value, err := json.Marshal(other[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		if err := c.UnmarshalJSON(value); err != nil {
			t.Fatal(err)
		}
		err = c.ResumeDiff(Shakespeare())
		if may[f.Name] {
			if err != nil {
				t.Errorf("%s: got %v, want no error", f.Name, err)
			}
			continue
		}
		want := f.Name + ": got " + other[i].String()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}

	c := shakespeare65()
	c.QKSize, c.NInner, c.Eps, c.Precision = 32, 512, 1e-5, "float32" // the usual, spelled out
	if err := c.ResumeDiff(shakespeare65()); err != nil {
		t.Errorf("usual values: %v", err)
	}
	c.NLayer, c.Seed = 5, 7
	const want = "resume: n_layer: got 5, want 4 as saved; seed: got 7, want 1337 as saved"
	if err := c.ResumeDiff(shakespeare65()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The option of an attention counts only if that attention is named.
func TestConfigOptions(t *testing.T) {
	fresh := shakespeare65()
	for _, attention := range parts.Attentions() {
		for _, option := range attention.Options {
			a, b := fresh, fresh
			a.Attention, b.Attention = attention.String(), attention.String()
			b.Options.Set(option.Name, 6)
			if err := a.ResumeDiff(b); err == nil || !strings.Contains(err.Error(), option.Name+": got ") {
				t.Errorf("%s: got %v, want a difference", option.Name, err)
			}
			a.Attention, b.Attention = "causal", "causal"
			if err := a.ResumeDiff(b); err != nil {
				t.Errorf("%s, which causal attention does not read: got %v, want no error", option.Name, err)
			}
		}
	}
}

// A checkpoint from before heads had names has the key "tie".
func TestConfigReadsTie(t *testing.T) {
	for text, want := range map[string]string{`{"tie": true}`: "tied", `{"tie": false}`: "linear"} {
		if got, err := ReadConfig(strings.NewReader(text), unusual()); err != nil || got.Head != want {
			t.Errorf("%s: got %q, %v, want %q", text, got.Head, err, want)
		}
	}
	if _, err := ReadConfig(strings.NewReader(`{"tie": 3}`), unusual()); err == nil ||
		err.Error() != "tie: got 3, want true or false" {
		t.Errorf("got %v", err)
	}
}

// A loop without a trainer computes the same as a trainer: after Configure the losses of the first batch and the
// gradients of all parameters are the same bits in every precision, and differ between precisions.
func TestConfigureIsTheTrainers(t *testing.T) {
	losses := map[float64]string{}
	for _, precision := range graph.Precisions() {
		c := tiny()
		c.Dropout, c.Precision = 0, precision
		trainer := newTrainer(t, c)
		var m *Model
		var p *graph.Program
		_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
			c.Configure(g)
			if m, err = New(g, trainer.Config(), c.BatchSize); err != nil {
				return err
			}
			p, err = graph.Compile(m.Loss, m.Trainable()...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		step, err := trainer.Step()
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Tokens.Ints(), trainer.Model.Tokens.Ints())
		copy(m.Targets.Ints(), trainer.Model.Targets.Ints())
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if p.Loss() != step.Loss {
			t.Errorf("%s: got the loss %v, want the trainer's %v", precision, p.Loss(), step.Loss)
		}
		if m.Graph.Precision() != trainer.Model.Graph.Precision() {
			t.Errorf(
				"%s: got %s, want the trainer's %s", precision, m.Graph.Precision(), trainer.Model.Graph.Precision(),
			)
		}
		if other, ok := losses[p.Loss()]; ok {
			t.Errorf("%s: got the loss %v of %s", precision, p.Loss(), other)
		}
		losses[p.Loss()] = precision
		decodesInFloat32(t, m)
	}
}

// decodesInFloat32 compares a decoder's logits with the logits of a model of the same weights in float32, bit for bit.
func decodesInFloat32(t *testing.T, m *Model) {
	t.Helper()
	c := m.Config
	c.Precision = ""
	plain, err := New(graph.New(graph.Float32, c.Seed), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	var logits [2][]float64
	for i, m := range []*Model{m, plain} {
		d, err := NewDecoder(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		x, err := d.Feed([]int{1})
		if err != nil {
			t.Fatal(err)
		}
		for j := range x.Len() {
			logits[i] = append(logits[i], x.At(j))
		}
	}
	for i, got := range logits[0] {
		if want := logits[1][i]; got != want {
			t.Errorf("%s decodes: logit %d: got %v, want %v as in float32", m.Config.Precision, i, got, want)
		}
	}
}

// Every number of a configuration has a least value, and every size a largest one. The fields that may differ when a
// run is resumed are those that no step reads.
func TestFieldBorders(t *testing.T) {
	c := Shakespeare()
	all := c.fields()
	for names, values := range map[string][2]string{ // that it may have, and that it may not
		"block_size vocab_size n_layer n_head n_embd batch_size gradient_accumulation_steps eval_interval " +
			"eval_iters log_interval": {"1 2 268435456", "0 -1 268435457"},
		"qk_size v_size n_inner lora_r max_iters warmup_iters lr_decay_iters": {"0 1 268435456", "-1 268435457"},
		"dropout eps beta1 beta2 label_smoothing partial_rotary_factor":       {"0 0.99", "-0.01 1"},
		"rope_theta lora_alpha weight_decay grad_clip min_lr z_loss":          {"0 1e300", "-1e-300"},
		"n_future_tokens": {"0 1 128", "-1 129"},
		"learning_rate":   {"1e-300 1e300", "0 -1"},
		"threads":         {"0 4096", "-1 4097"},
		"lora_scale":      {`"" "alpha" "alpha/r" "alpha/sqrt(r)"`, `"beta"`},
		"optimizer schedule precision position attention norm block activation mlp qk_norm attn_gate attn_sinks " +
			"short_conv value_residual skips initialization rope_scaling head": {`""`, `"none_such"`},
		"seed": {"0 18446744073709551615", ""},
	} {
		for _, name := range strings.Fields(names) {
			f, found := all.Find(name)
			if !found {
				t.Errorf("no field %s", name)
				continue
			}
			for i, list := range values {
				for _, v := range strings.Fields(list) {
					if err := f.Decode([]byte(v)); err != nil || (f.Check() == nil) != (i == 0) {
						t.Errorf("%s of %s: got %v, %v", name, v, err, f.Check())
					}
				}
			}
		}
	}
	fixed := all.Fixed().Names()
	free := slices.DeleteFunc(all.Names(), func(name string) bool { return slices.Contains(fixed, name) })
	if got := strings.Join(free, " "); got != "max_iters eval_interval eval_iters patience log_interval out_dir "+
		"threads recompute memory_limit shard_optimizer" {
		t.Errorf("may differ: %s", got)
	}
}

// A network with a size of 0 is not counted.
func TestOutlineOfNothing(t *testing.T) {
	for i := range 4 {
		c := Shakespeare().Resolved()
		c.VocabSize = 65
		size := []*int{&c.NLayer, &c.NHead, &c.NEmbd, &c.BlockSize}[i]
		for n, ok := range map[int]bool{0: false, 1: true} {
			if *size = n; i == 2 {
				c.NHead = 1
			}
			if _, err := c.planned().outline(); (err == nil ||
				!strings.Contains(err.Error(), "at least 1 of each is needed")) != ok {
				t.Errorf("size %d of %d: got %v", i, n, err)
			}
		}
	}
}

// Every field is set to nonsensical values: a configuration that passes can be built.
func TestHostileFields(t *testing.T) {
	names := hostileValues().fields().Names()
	fuzzed.Fields(t, names, hostileValues, func(c *Config) error { return use(*c) })
}

// use calls everything that reads a configuration alone, and builds a model if it passes.
func use(c Config) error {
	err := c.Validate()
	c.Count()
	c.Memory()
	FLOPsPerToken(c)
	if _, err := json.Marshal(c); err == nil {
		c.HuggingFace()
	}
	c.ResumeDiff(tiny())
	g := graph.New(graph.Float32, 1)
	c.Configure(g)
	if _, failed := New(g, c, c.BatchSize); err == nil {
		err = failed
	}
	return err
}

// hostileValues returns a configuration in which every part reads its options.
func hostileValues() *Config {
	c := tiny()
	c.VocabSize, c.MemoryLimit = 41, 0.004
	return &c
}
