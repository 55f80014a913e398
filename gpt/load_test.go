package gpt

import (
	"bytes"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A loaded model computes without dropout until training is switched on. Then every step of a loop that does not number
// its steps drops other entries.
func TestLoadedModelsEvaluate(t *testing.T) {
	c := eventful()
	c.Dropout = 0.5
	trainer := newTrainer(t, c)
	cp := saved(t, 0, files(t, trainer))
	var m *Model
	losses := func(kernels bool, training bool) (list []float64) {
		g := emptyGraph()
		g.Kernels = kernels
		var err error
		if m, err = LoadModel(g, cp); err != nil {
			t.Fatal(err)
		}
		if training {
			g.SetTraining(true)
		}
		for i := range m.Tokens.Ints() {
			m.Tokens.Ints()[i], m.Targets.Ints()[i] = i, i+1
		}
		p, err := graph.Compile(m.Loss, m.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			list = append(list, p.Loss())
		}
		return list
	}
	x, y := trainer.Model.Tokens.Ints(), trainer.Model.Targets.Ints()
	for i := range x {
		x[i], y[i] = i, text.Ignore
		if i < trainer.Config().BlockSize {
			y[i] = i + 1
		}
	}
	want, err := lossNow(t.Context(), trainer)
	if err != nil {
		t.Fatal(err)
	}
	for _, kernels := range []bool{true, false} {
		for i, got := range losses(kernels, false) {
			if d := relative([]float64{got}, []float64{want}, 0); !(d <= 1e-6) {
				t.Errorf("kernels %t, run %d: got loss %v, want that of an evaluation, %v", kernels, i, got, want)
			}
		}
		if l := losses(kernels, true); l[0] == l[1] || l[1] == l[2] || l[0] == l[2] {
			t.Errorf("kernels %t: three steps of training drop the same: losses %v", kernels, l)
		}
	}
}

func TestLoadRefusesNothing(t *testing.T) {
	cp := saved(t, 0, files(t, newTrainer(t, tiny())))
	_, err := LoadModel(nil, cp)
	mustContain(t, err, "graph: got nil")
	_, err = LoadModel(emptyGraph(), nil)
	mustContain(t, err, "checkpoint: got nil")
	_, err = LoadTokenizer(nil)
	mustContain(t, err, "checkpoint: got nil")
	_, err = New(nil, tiny(), 1)
	mustContain(t, err, "graph: got nil")
}

// TestLoadingNeedsNoMemory: a resumed run and a loaded model allocate the same as new ones, and in addition less than a
// tenth of the numbers that they read.
func TestLoadingNeedsNoMemory(t *testing.T) {
	c := tiny()
	c.NEmbd, c.QKSize, c.VSize, c.Head = 192, 0, 0, "linear"
	trainer := newTrainer(t, c)
	steps(t, trainer, 1)
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(1, files(t, trainer)); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path, Fits())
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	// by do alone: the least of three, because a collection may empty pools meanwhile
	allocated := func(do func() error) float64 {
		least := math.Inf(1)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := do(); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.TotalAlloc-before.TotalAlloc))
		}
		return least
	}
	total, _ := trainer.Config().Count()
	weights := 4 * float64(total)
	fresh := allocated(func() error { _, err := NewTrainer(c, trainer.Corpus, trainer.Tokenizer); return err })
	resumed := allocated(func() error { _, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp); return err })
	built := allocated(func() error { _, err := New(graph.New(graph.Float32, 1), trainer.Config(), 1); return err })
	loaded := allocated(func() error { _, err := LoadModel(emptyGraph(), cp); return err })
	t.Logf("weights %.2g MB; a new run allocates %.3g, resumed %.3g; a new model %.4g, loaded %.4g", weights/1e6,
		fresh/1e6,
		resumed/1e6, built/1e6, loaded/1e6)
	if more := resumed - fresh; !(more < weights/10*3) { // weights and two moments
		t.Errorf("a resumed run allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
	if more := loaded - built; !(more < weights/5) { // reading the configuration takes a third of a megabyte
		t.Errorf("a loaded model allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
}

// A step between Files and Save would mix two steps in a checkpoint: it is not saved.
func TestFilesAreOfOneStep(t *testing.T) {
	trainer := newTrainer(t, tiny())
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	list := files(t, trainer)
	if err := dir.Save(0, list); err != nil {
		t.Fatal(err)
	}
	steps(t, trainer, 1)
	if err := dir.Save(1, list); err == nil || !strings.Contains(err.Error(), "files of step 0: got step 1 since") {
		t.Errorf("got %v", err)
	}
	if cp, err := checkpoint.Load(path); err != nil || cp.Step != 0 {
		t.Errorf("the checkpoint of step 0 is gone: %v", err)
	}
}

// network returns the fields in which two configurations of one network agree.
func network(c Config) map[string]string {
	c = c.Resolved()
	values := map[string]string{}
	for _, f := range c.NetworkFields() {
		values[f.Name] = f.String()
	}
	return values
}

func huggingFaceRoundTrip(t *testing.T, c Config) {
	t.Helper()
	data, err := c.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	got, err := FromHuggingFace(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if diff := cmp.Diff(network(c), network(got)); diff != "" {
		t.Fatalf("config.json: -want +got:\n%s", diff)
	}
}

func TestConfigHuggingFaceRoundTrip(t *testing.T) {
	relu := shakespeare65()
	relu.Activation, relu.Dropout = "relu", 0.25
	for _, c := range []Config{shakespeare65(), GPT2(), untiedGPT2(), Paper(), unusual(), relu} {
		huggingFaceRoundTrip(t, c)
	}
	if _, err := Shakespeare().HuggingFace(); err == nil {
		t.Error("vocab_size 0: got no error")
	}
}

func TestConfigHuggingFace(t *testing.T) {
	c := GPT2()
	c.Dropout = 0.1
	data, err := c.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "model_type": "gpt2",
  "architectures": [
    "GPT2LMHeadModel"
  ],
  "vocab_size": 50257,
  "n_positions": 1024,
  "n_ctx": 1024,
  "n_embd": 768,
  "n_layer": 12,
  "n_head": 12,
  "n_inner": 3072,
  "activation_function": "gelu_new",
  "resid_pdrop": 0.1,
  "embd_pdrop": 0.1,
  "attn_pdrop": 0.1,
  "layer_norm_epsilon": 0.00001,
  "tie_word_embeddings": true,
  "scale_attn_weights": true,
  "scale_attn_by_inverse_layer_idx": false,
  "add_cross_attention": false
}
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Only a network that computes the same as a GPT-2 has its model_type.
func TestConfigHuggingFaceModelType(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) {}, "gpt2"},
		{func(c *Config) { c.Bias = true }, "gpt2"},
		{func(c *Config) { c.Head = "linear" }, "gpt2"},
		{func(c *Config) { c.QKSize, c.VSize, c.NInner = 32, 32, 100 }, "gpt2"},
		{func(c *Config) { c.Bias, c.Head = true, "linear" }, "pedestrian"}, // the head's bias
		{func(c *Config) { c.Block = "post" }, "pedestrian"},
		{func(c *Config) { c.QKSize = 31 }, "pedestrian"},
		{func(c *Config) { c.LoraR = 2 }, "pedestrian"},
	} {
		c := shakespeare65()
		test.change(&c)
		data, err := c.HuggingFace()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			ModelType string `json:"model_type"`
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got.ModelType != test.want {
			t.Errorf("got %s, want %s: %s", got.ModelType, test.want, data)
		}
	}
}

// A checkpoint whose weights have another number than its configuration declares is skipped, with the layer's name.
func TestCountNamesItsLayer(t *testing.T) {
	c := tiny()
	trainer := newTrainer(t, c)
	for change, want := range map[[2]string]string{
		{`"n_inner": 0`, `"n_inner": 65`}: "; layer h.0.mlp.c_fc: got 1024, want 1040",
		{`"n_layer": 2`, `"n_layer": 3`}:  "; layer h.2.attn.c_attn: got 0, want ",
		{`"n_layer": 2`, `"n_layer": 1`}:  "; layer h.1.attn.c_attn: got 544, want none",
	} {
		files, err := trainer.Files()
		check(t, err)
		for i, f := range files {
			if f.Name != train.StateFile {
				continue
			}
			var b bytes.Buffer
			check(t, f.Write(&b))
			state := strings.Replace(b.String(), change[0], change[1], 1)
			if state == b.String() {
				t.Fatalf("got %s, want %s in it", state, change[0])
			}
			files[i].Write = train.WriteBytes([]byte(state))
		}
		path := t.TempDir()
		dir, err := checkpoint.Open(path)
		check(t, err)
		check(t, dir.Save(0, files))
		check(t, dir.Close())
		_, _, err = Open(path)
		mustContain(t, err, "model.safetensors: got ", want)
	}
}
