package gpt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// fineTuned returns a base and adapters trained for two steps on its checkpoint.
func fineTuned(t *testing.T) (base, tuned *Trainer) {
	t.Helper()
	base = newTrainer(t, tiny())
	steps(t, base, 3)
	c := tiny()
	c.LoraR, c.LoraAlpha = 2, 3
	tuned, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, 3, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	return base, tuned
}

// Fine-tuning starts at the base's function, changes only the adapters, and ends in a model without them.
func TestFineTune(t *testing.T) {
	base, tuned := fineTuned(t)
	loss := func(trainer *Trainer) float64 {
		l, err := trainer.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := loss(base)
	if got := loss(tuned); got != before {
		t.Errorf("before a step: loss %v, the base's is %v", got, before)
	}
	steps(t, tuned, 20)
	after := loss(tuned)
	if !(after < before) {
		t.Errorf("after 20 steps: loss %v, was %v", after, before)
	}
	for _, p := range base.Model.Params() {
		for _, q := range tuned.Model.Params() {
			if p.Name() == q.Name() && relative(q.Tensor().Floats(), p.Tensor().Floats(), 0) != 0 {
				t.Errorf("%s has moved", p.Name())
			}
		}
	}

	var adapters bytes.Buffer
	if err := tuned.Model.WriteAdapters(&adapters); err != nil {
		t.Fatal(err)
	}
	tuned.Model.Merge()
	if d := loss(tuned) - after; !(d < 1e-5 && d > -1e-5) {
		t.Errorf("merged: the loss is %v off", d)
	}
	plain, err := tuned.Model.Plain(1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plain.Params() {
		if strings.Contains(p.Name(), "lora") {
			t.Errorf("plain: got %s", p.Name())
		}
	}
	list, err := plain.Files(base.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	cp := saved(t, 1, list)
	m, err := LoadModel(emptyGraph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, m, plain)
	if err := checkTokenizer(cp, base.Tokenizer); err != nil {
		t.Error(err)
	}

	_, again := fineTuned(t)
	if err := again.Model.ReadAdapters(adapters.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got := loss(again); got != after {
		t.Errorf("with the adapters of the file: loss %v, want %v", got, after)
	}
}

func TestFineTuneRefuses(t *testing.T) {
	base, tuned := fineTuned(t)
	cp := saved(t, 3, files(t, base))
	c := tiny()
	c.NEmbd = 18
	c.Options.Offer("window", 5)
	_, err := FineTune(c, base.Corpus, base.Tokenizer, cp)
	mustContain(t, err, "n_embd: got 18, want 16 as saved")
	var bare Config // takes the network from the checkpoint
	bare.Training, bare.Run, bare.LoraR, bare.Dropout = c.Training, c.Run, 2, 0.1
	inherited, err := FineTune(bare, base.Corpus, base.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	if got := inherited.Config(); got.NEmbd != 16 || got.LoraR != 2 || got.Dropout != 0.1 {
		t.Errorf("got n_embd %d, lora_r %d, dropout %v, want 16, 2, 0.1", got.NEmbd, got.LoraR, got.Dropout)
	}
	c = tiny()
	c.LoraR = 1
	_, err = FineTune(bare, base.Corpus, base.Tokenizer, saved(t, 0, files(t, newTrainer(t, c))))
	mustContain(t, err, "lora_r: got 1 as saved, want 0: merge its adapters first")
	mustContain(t, base.Model.WriteAdapters(new(bytes.Buffer)), "lora_r is 0")
	mustContain(t, base.Model.ReadAdapters(nil), "lora_r is 0")
	var whole bytes.Buffer
	if err := base.Model.WriteWeights(&whole); err != nil {
		t.Fatal(err)
	}
	mustContain(t, tuned.Model.ReadAdapters(whole.Bytes()), "base_sha256 is missing")
}

// Adapters belong to one base and one way to add them: a difference is named with both values, and nothing is read.
func TestAdaptersBelong(t *testing.T) {
	base, tuned := fineTuned(t)
	steps(t, tuned, 2)
	var written bytes.Buffer
	if err := tuned.Model.WriteAdapters(&written); err != nil {
		t.Fatal(err)
	}
	cp := saved(t, 3, files(t, base))
	with := func(change func(c *Config)) *Model {
		c := tuned.Config()
		change(&c)
		m, err := FineTune(c, base.Corpus, base.Tokenizer, cp)
		if err != nil {
			t.Fatal(err)
		}
		return m.Model
	}
	same := with(func(c *Config) { c.LoraAlpha, c.LoraScale, c.Dropout = 3, "alpha/r", 0.5 }) // what a 0 stands for, spelled
	if err := same.ReadAdapters(written.Bytes()); err != nil {
		t.Error(err)
	}
	sameWeights(t, same, tuned.Model)
	moved := with(func(*Config) {})
	p := moved.Params()[2].Tensor()
	p.Set(1, p.At(1)+1e-6)
	relu := tuned.Config() // which FineTune would refuse
	relu.Activation = "relu"
	activation, err := New(graph.New(graph.Float32, 1), relu, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		model *Model
		data  []byte
		words []string
	}{
		{with(func(c *Config) { c.LoraAlpha = 4 }), written.Bytes(), []string{"lora_alpha: got 4, want 3 as in the file"}},
		{with(func(c *Config) { c.LoraScale = "alpha" }), written.Bytes(), []string{"lora_scale: got alpha, want alpha/r as in the file"}},
		{with(func(c *Config) { c.LoraR = 1 }), written.Bytes(), []string{"lora_r: got 1, want 2"}},
		{with(func(c *Config) { c.LoraTargets = []string{"c_fc"} }), written.Bytes(), []string{"lora_targets: got c_fc, want "}},
		{activation, written.Bytes(), []string{"activation: got relu, want gelu as in the file"}},
		{moved, written.Bytes(), []string{"base_sha256: got ", ", want ", "as in the file"}},
		{with(func(*Config) {}), bytes.Replace(written.Bytes(), []byte("lora_alpha"), []byte("lora_\x1b[31m"), 1), []string{"safetensors"}},
		{with(func(*Config) {}), bytes.Replace(written.Bytes(), []byte("lora_alpha"), []byte("lora_delta"), 1), []string{"lora_delta: got 3 in the file"}},
		{with(func(*Config) {}), bytes.Replace(written.Bytes(), []byte("base_sha256"), []byte("base_sha1.."), 1), []string{"base_sha256 is missing"}},
		{with(func(*Config) {}), nil, []string{"adapters", "got 0 bytes"}},
	} {
		before := encoded(t, decoded(t, tc.model))
		mustContain(t, tc.model.ReadAdapters(tc.data), tc.words...)
		if !bytes.Equal(encoded(t, decoded(t, tc.model)), before) {
			t.Errorf("%s: the model has changed", tc.words)
		}
	}
}

// twist is a user-defined MLP that declares its matrices itself.
type twist struct{ in, out graph.Expr }

func (l twist) Forward(x graph.Expr) graph.Expr { return x.MatMul(l.in).Tanh().MatMul(l.out) }

func twisted() Config {
	c := tiny()
	c.MLP = "twist"
	c.Parts.MLPs = []parts.MLP{{Name: "twist", New: func(at nn.Site) nn.Layer {
		return twist{at.Param("weight", graph.Normal(0.1), at.Embd, 5), at.Param("back", graph.Normal(0.1), 5, at.Embd)}
	}}}
	return c
}

// The matrices of a user-defined part have adapters like all others, named or by default. The adapters are counted,
// start at the base's function, learn, are merged, and are in the decoder.
func TestAdaptersOfOwnMatrices(t *testing.T) {
	base := newTrainer(t, twisted())
	steps(t, base, 2)
	c := twisted()
	c.VocabSize, c.LoraR = base.Config().VocabSize, 3
	const each = 2 * ((16*3 + 3*5) + (5*3 + 3*16)) // of two blocks
	all := c
	_, trained := all.Count()
	all.LoraTargets = []string{"c_attn", "c_proj"}
	_, without := all.Count()
	all.LoraTargets = []string{"c_attn", "c_proj", "mlp", "mlp.back"}
	if _, named := all.Count(); trained-without != each || named != trained {
		t.Errorf("%d adapters by default, %d named, %d without the layer's; want a difference of %d", trained, named, without, each)
	}
	c.LoraTargets = []string{"c_fc"}
	mustContain(t, c.Validate(), "want endings of attn.c_attn, attn.c_proj, mlp, mlp.back")

	c.LoraTargets = []string{"mlp", "back"}
	tuned, err := FineTune(c, base.Corpus, base.Tokenizer, saved(t, 2, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	loss := func(trainer *Trainer) float64 {
		l, err := trainer.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	before := loss(tuned)
	if want := loss(base); before != want {
		t.Errorf("fine-tuning starts at %v, the base is at %v", before, want)
	}
	steps(t, tuned, 10)
	after := loss(tuned)
	if !(after < before) {
		t.Errorf("after 10 steps: loss %v, was %v", after, before)
	}
	decoded := func(m *Model) []float64 {
		d, err := NewDecoder(m, 1)
		if err != nil {
			t.Fatal(err)
		}
		logits, err := d.Feed([]int{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		return logits.Floats()
	}
	want := decoded(tuned.Model)
	tuned.Model.Merge()
	plain, err := tuned.Model.Plain(1)
	if err != nil {
		t.Fatal(err)
	}
	if d := relative(decoded(plain), want, 0); !(d < 1e-4) {
		t.Errorf("merged: %v off", d)
	}
}
