package gpt

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The recipes fine-tune the network of a checkpoint, all of it or adapters alone, and reduce the loss.
func TestTuning(t *testing.T) {
	base := newTrainer(t, tiny())
	steps(t, base, 3)
	cp := saved(t, 3, files(t, base))
	for name, c := range map[string]Config{"full": FullTuning(), "LoRA": LoRATuning()} {
		c.GradientAccumulationSteps = 2
		c.LearningRate *= 10 // for a small model
		tuned, err := fineTune(c, base.Corpus, base.Tokenizer, cp)
		if err != nil {
			t.Fatal(err)
		}
		before, err := tuned.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		steps(t, tuned, c.MaxIters)
		after, err := tuned.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		total, trained := tuned.Config().Count()
		if !(after < before) || (trained == total) != (name == "full") || tuned.Config().Recompute {
			t.Errorf("%s: %d of %d parameters, from %v to %v", name, trained, total, before, after)
		}
	}
}

// The numbers are nanoGPT's, and the usual ones for adapters.
func TestTuningNumbers(t *testing.T) {
	full, low := FullTuning(), LoRATuning()
	var want Config
	want.BatchSize, want.GradientAccumulationSteps, want.LearningRate, want.Optimizer = 1, 32, 3e-5, "adamw"
	want.WeightDecay, want.Beta1, want.Beta2, want.GradClip, want.Seed, want.Kernels = 0.1, 0.9, 0.95, 1, 1337, true
	want.MaxIters, want.EvalInterval, want.EvalIters, want.LogInterval, want.OutDir = 20, 5, 40, 1, "out"
	if diff := cmp.Diff(want, full); diff != "" {
		t.Errorf("full: -want +got:\n%s", diff)
	}
	want.LearningRate, want.WeightDecay, want.LoraR, want.LoraAlpha, want.LoraFused = 3e-4, 0, 8, 16, true
	if diff := cmp.Diff(want, low); diff != "" {
		t.Errorf("LoRA: -want +got:\n%s", diff)
	}
}

// If a run fits into memory only when activations are computed again, FineTune sets Recompute.
func TestTuningRecomputes(t *testing.T) {
	base := newTrainer(t, tiny())
	cp := saved(t, 0, files(t, base))
	c := FullTuning()
	c.BatchSize = 40
	c.Network = base.Config().Network
	kept := c.Memory()
	c.Recompute = true
	again := c.Memory()
	c.Recompute = false
	for _, tc := range []struct {
		bytes     float64
		recompute bool
	}{{kept, false}, {kept - 1, true}, {again, true}, {again - 1, false}} {
		c.MemoryLimit = tc.bytes / (1 << 30)
		tuned, err := fineTune(c, base.Corpus, base.Tokenizer, cp)
		if tc.bytes < again {
			mustContain(t, err, "memory: got about")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := tuned.Config().Recompute; got != tc.recompute {
			t.Errorf(
				"of %.0f to %.0f bytes at most %.0f: recompute %t, want %t", again, kept, tc.bytes, got, tc.recompute,
			)
		}
	}
}

// Only answers are learnt: the loss is the mean over their tokens, each with its probability after all earlier tokens
// according to the decoder, however the examples are batched. Prompts without an answer change nothing.
func TestAnswersAlone(t *testing.T) {
	const lines = `{"prompt": "ab", "completion": "c"}
{"prompt": "bc", "completion": "dab"}
{"prompt": "dd", "completion": "ac"}
{"prompt": "ca", "completion": "bd"}
{"prompt": "cada", "completion": "b"}
`
	path := filepath.Join(t.TempDir(), "a.jsonl")
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := text.NewCharacters("abcd")
	if err != nil {
		t.Fatal(err)
	}
	c := tiny()
	data, err := chat.LoadAnswers(path, tok, chat.Template{}, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	data = text.Dataset{Training: data.Train(), Validation: data.Train(), Sum: data.SHA256()}
	trainer, err := NewTrainer(c, data, tok) // batches of 3: the last has one example
	if err != nil {
		t.Fatal(err)
	}
	steps(t, trainer, 5)
	got, err := trainer.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(trainer.Model, 1)
	if err != nil {
		t.Fatal(err)
	}
	sum, n := 0.0, 0
	for _, e := range [][2]string{{"ab", "c"}, {"bc", "dab"}, {"dd", "ac"}, {"ca", "bd"}} {
		ids, _ := tok.Encode(e[0])
		answer, _ := tok.Encode(e[1])
		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		for _, id := range answer {
			logits, err := d.Feed(ids)
			if err != nil {
				t.Fatal(err)
			}
			all := 0.0
			for _, z := range logits.Floats() {
				all += math.Exp(z)
			}
			sum += math.Log(all) - logits.At(id)
			ids, n = []int{id}, n+1
		}
	}
	if want := sum / float64(n); n != 8 || !(math.Abs(got-want) < 1e-5) {
		t.Errorf("got a loss of %v, want %v, the mean over %d tokens", got, want, n)
	}
	before, err := trainer.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	steps(t, trainer, 30)
	after, err := trainer.Evaluate(t.Context())
	if err != nil || !(after.Train < before.Train) {
		t.Errorf("from %v to %v (%v)", before.Train, after.Train, err)
	}
}

// The factor of rsLoRA is α/√r.
func TestRootScale(t *testing.T) {
	c := lora(4, 6)
	c.LoraScale = "alpha/sqrt(r)"
	same := lora(4, 12)
	same.LoraScale = "alpha/r"
	a, b := scrambled(t, c), scrambled(t, same)
	if x, y := logitsAfter(t, a), logitsAfter(t, b); relative(x, y, 0) != 0 {
		t.Errorf("got %v, want %v", x, y)
	}
}

// Every preset has a name of its own, which finds it, and a network to train or none.
func TestPresetsByName(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Presets() {
		got, err := PresetOf(p.Name)
		if err != nil || got.About == "" || seen[p.Name] || cmp.Diff(p.Config, got.Config) != "" {
			t.Errorf("%s: got %+v, %v", p.Name, got, err)
		}
		seen[p.Name] = true
		if p.Config.VocabSize == 0 {
			p.Config.VocabSize = 65
		}
		p.Config.MemoryLimit = 1 << 20
		if err := p.Config.Validate(); (err == nil) != (p.Config.NEmbd > 0) {
			t.Errorf("%s: got %v", p.Name, err)
		}
	}
	_, err := PresetOf("Stories-15m")
	mustContain(
		t, err, "preset: got Stories-15m, want one of shakespeare, modern, llama, baby", "did you mean stories15m?",
	)
}

// The presets are the published recipes, number by number, each written as its differences from the first.
func TestPresets(t *testing.T) {
	const shakespeare = `{"block_size":64,"vocab_size":0,"n_layer":4,"n_head":4,"n_embd":128,"dropout":0,"bias":false,"qk_size":0,
		"v_size":0,"n_inner":0,"eps":0,"rope_theta":0,"lora_r":0,"lora_alpha":0,"lora_targets":[],"lora_scale":"","position":"learned",
		"attention":"causal","norm":"layernorm","block":"pre","activation":"gelu","head":"tied","window":16,"dilation":2,"global_tokens":1,
		"random_keys":2,"latent_size":0,"q_latent_size":0,"rope_size":0,"batch_size":12,"gradient_accumulation_steps":1,
		"learning_rate":0.001,"max_iters":2000,"optimizer":"adamw","weight_decay":0.1,"beta1":0.9,"beta2":0.99,"grad_clip":1,
		"decay_lr":true,"warmup_iters":100,"lr_decay_iters":2000,"min_lr":0.0001,"eval_interval":250,"eval_iters":20,
		"log_interval":1,"seed":1337,"out_dir":"out","threads":0,"kernels":true,"recompute":false}`
	const gpt2 = `"block_size":1024,"vocab_size":50257,"n_head":12,"n_embd":768,"bias":true,"window":256,
		"gradient_accumulation_steps":40,"learning_rate":0.0006,"min_lr":0.00006,"beta2":0.95,"max_iters":600000,
		"lr_decay_iters":600000,"warmup_iters":2000,"eval_interval":2000,"eval_iters":200`
	for _, c := range []struct {
		name      string
		got       Config
		otherwise string
	}{
		{"Shakespeare", Shakespeare(), `{}`},
		{
			"Modern", Modern(),
			`{"position":"rope","norm":"rmsnorm","mlp":"swiglu","activation":"","n_inner":344,"short_conv":"canon_ac","optimizer":"muon","learning_rate":0.004}`,
		},
		{
			"LLaMA", LLaMA(),
			`{"position":"rope","norm":"rmsnorm","mlp":"swiglu","activation":"","n_inner":352,"optimizer":"muon","learning_rate":0.004}`,
		},
		{"Baby", Baby(), `{"block_size":256,"n_layer":6,"n_head":6,"n_embd":384,"window":64,"dropout":0.2,"batch_size":64,
			"max_iters":5000,"lr_decay_iters":5000,"eval_iters":200,"log_interval":10}`},
		{"GPT2", GPT2(), `{"n_layer":12,"activation":"gelu_tanh",` + gpt2 + `}`},
		{"DistilGPT2", DistilGPT2(), `{"n_layer":6,"activation":"gelu_tanh",` + gpt2 + `}`},
		{"Paper", Paper(), `{"n_layer":1,"head":"linear",` + gpt2 + `}`},
	} {
		data, err := json.Marshal(c.got)
		if err != nil {
			t.Fatal(err)
		}
		var got, want map[string]any
		for text, into := range map[string]*map[string]any{string(data): &got, shakespeare: &want} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if err := json.Unmarshal([]byte(c.otherwise), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// fineTuned returns a base and adapters trained for two steps on its checkpoint.
func fineTuned(t *testing.T) (base, tuned *Trainer) {
	t.Helper()
	base = newTrainer(t, tiny())
	steps(t, base, 3)
	c := tiny()
	c.LoraR, c.LoraAlpha = 2, 3
	tuned, err := fineTune(c, base.Corpus, base.Tokenizer, saved(t, 3, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	return base, tuned
}

// Fine-tuning starts at the base's function, changes only the adapters, and ends in a model without them.
// Answers that leave a head without a target are an error that names it; longer ones train every head.
func TestFutureTokensOfAnswers(t *testing.T) {
	tok, err := text.NewCharacters("abcd")
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`{"prompt": "a", "completion": "b"}`:   "n_future_tokens: got 3, want at most 1 for a micro-batch of 3 rows whose targets are among the first 1 tokens: head 2 would",
		`{"prompt": "ab", "completion": "c"}`:  "n_future_tokens: got 3, want at most 2 for a micro-batch of 3 rows whose targets are among the first 2 tokens: head 3 would",
		`{"prompt": "ab", "completion": "cd"}`: "",
	} {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		if err := os.WriteFile(path, []byte(strings.Repeat(line+"\n", 9)), 0o644); err != nil {
			t.Fatal(err)
		}
		c := tiny()
		c.FutureTokens = 3
		data, err := chat.LoadAnswers(path, tok, chat.Template{}, c.BlockSize)
		if err != nil {
			t.Fatal(err)
		}
		trainer, err := NewTrainer(c, data, tok)
		if err != nil {
			t.Fatal(err)
		}
		p, err := trainer.Step()
		switch {
		case want != "":
			mustContain(t, err, want)
		case err != nil || !(p.Loss > 0):
			t.Errorf("%s: got a loss of %v (%v), want one above 0", line, p.Loss, err)
		}
	}
}

// The losses of several tokens are the same for shards as for the text in memory, and a run of several heads is tuned
// from the loss that it has reached.
func TestFutureTokensOfShards(t *testing.T) {
	c := tiny()
	c.FutureTokens = 3
	one := newTrainer(t, c)
	tokens := func(s text.Split) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			all := make([]int, s.Len())
			err := s.Read(all, 0)
			for _, id := range all {
				if !yield(id, err) {
					return
				}
			}
		}
	}
	dir := t.TempDir()
	if err := text.WriteShards(
		dir, one.Tokenizer, 50, tokens(one.Corpus.Train()), tokens(one.Corpus.Val()),
	); err != nil {
		t.Fatal(err)
	}
	shards, err := text.OpenShards(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer shards.Close()
	other, err := NewTrainer(c, shards, shards.Tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	got, want := steps(t, other, 3), steps(t, one, 3)
	for i := range want {
		if got[i].Loss != want[i].Loss || !(want[i].Loss > 0) {
			t.Errorf("step %d: got %v of shards, want %v", i, got[i].Loss, want[i].Loss)
		}
	}
	before, err := one.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tuned, err := fineTune(c, shards, shards.Tokenizer, saved(t, 3, files(t, one)))
	if err != nil {
		t.Fatal(err)
	}
	if after, err := tuned.EvaluateAll(t.Context(), nil); err != nil || after != before {
		t.Errorf("tuned: got a loss of %v (%v), want %v", after, err, before)
	}
	if p := steps(t, tuned, 1); !(p[0].Loss > 0 && p[0].Loss < 2*want[2].Loss) {
		t.Errorf("tuned: got a loss of %v, want one near %v", p[0].Loss, want[2].Loss)
	}
}

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
	_, err := fineTune(c, base.Corpus, base.Tokenizer, cp)
	mustContain(t, err, "n_embd: got 18, want 16 as saved")
	var bare Config // takes the network from the checkpoint
	bare.Training, bare.Run, bare.LoraR, bare.Dropout = c.Training, c.Run, 2, 0.1
	inherited, err := fineTune(bare, base.Corpus, base.Tokenizer, cp)
	if err != nil {
		t.Fatal(err)
	}
	if got := inherited.Config(); got.NEmbd != 16 || got.LoraR != 2 || got.Dropout != 0.1 {
		t.Errorf("got n_embd %d, lora_r %d, dropout %v, want 16, 2, 0.1", got.NEmbd, got.LoraR, got.Dropout)
	}
	c = tiny()
	c.LoraR = 1
	_, err = fineTune(bare, base.Corpus, base.Tokenizer, saved(t, 0, files(t, newTrainer(t, c))))
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
		m, err := fineTune(c, base.Corpus, base.Tokenizer, cp)
		if err != nil {
			t.Fatal(err)
		}
		return m.Model
	}
	// what a 0 stands for, spelled
	same := with(func(c *Config) { c.LoraAlpha, c.LoraScale, c.Dropout = 3, "alpha/r", 0.5 })
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
		{
			with(func(c *Config) { c.LoraAlpha = 4 }), written.Bytes(),
			[]string{"lora_alpha: got 4, want 3 as in the file"},
		},
		{
			with(func(c *Config) { c.LoraScale = "alpha" }), written.Bytes(),
			[]string{"lora_scale: got alpha, want alpha/r as in the file"},
		},
		{with(func(c *Config) { c.LoraR = 1 }), written.Bytes(), []string{"lora_r: got 1, want 2"}},
		{
			with(func(c *Config) { c.LoraTargets = []string{"c_fc"} }), written.Bytes(),
			[]string{"lora_targets: got c_fc, want "},
		},
		{activation, written.Bytes(), []string{"activation: got relu, want gelu as in the file"}},
		{moved, written.Bytes(), []string{"base_sha256: got ", ", want ", "as in the file"}},
		{
			with(func(*Config) {}), bytes.Replace(written.Bytes(), []byte("lora_alpha"), []byte("lora_\x1b[31m"), 1),
			[]string{"safetensors"},
		},
		{
			with(func(*Config) {}), bytes.Replace(written.Bytes(), []byte("lora_alpha"), []byte("lora_delta"), 1),
			[]string{"lora_delta: got 3 in the file"},
		},
		{
			with(func(*Config) {}), bytes.Replace(written.Bytes(), []byte("base_sha256"), []byte("base_sha1.."), 1),
			[]string{"base_sha256 is missing"},
		},
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
		t.Errorf(
			"%d adapters by default, %d named, %d without the layer's; want a difference of %d", trained, named,
			without, each,
		)
	}
	c.LoraTargets = []string{"c_fc"}
	mustContain(t, c.Validate(), "want endings of attn.c_attn, attn.c_proj, mlp, mlp.back")

	c.LoraTargets = []string{"mlp", "back"}
	tuned, err := fineTune(c, base.Corpus, base.Tokenizer, saved(t, 2, files(t, base)))
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

// A run of FineTune whose TuningFiles are restored in a trainer that is built again ends in the bits of one that was
// not interrupted. With adapters the files hold these alone. Another base is refused by its name, and so is a trainer
// that is not new; nothing else reads adapters alone.
func TestTuningResumes(t *testing.T) {
	base := newTrainer(t, tiny())
	steps(t, base, 2)
	cp := saved(t, 2, files(t, base))
	steps(t, base, 1)
	moved := saved(t, 3, files(t, base))
	for _, r := range []int{0, 2} {
		c := tiny()
		c.LoraR, c.LoraAlpha, c.Dropout, c.EMA, c.MaxIters = r, float64(2*r), 0.2, 0.9, 5
		tuned := func(cp *checkpoint.Checkpoint) *Trainer {
			trainer, err := fineTune(c, base.Corpus, base.Tokenizer, cp)
			if err != nil {
				t.Fatal(err)
			}
			return trainer
		}
		one, two, again := tuned(cp), tuned(cp), tuned(cp)
		steps(t, one, 5)
		steps(t, two, 3)
		list, err := two.TuningFiles("some/where")
		if err != nil {
			t.Fatal(err)
		}
		at := saved(t, 3, list)
		if err := again.Restore(at); err != nil || again.Done != 3 {
			t.Fatalf("got step %d: %v", again.Done, err)
		}
		steps(t, again, 2)
		for i, p := range one.Model.Params() {
			if q := again.Model.Params()[i]; !slices.Equal(p.Tensor().F32, q.Tensor().F32) {
				t.Errorf("lora_r %d: %s differs", r, p.Name())
			}
		}
		for i, m := range one.Moments() {
			if n := again.Moments()[i]; !slices.Equal(m.F32, n.F32) {
				t.Errorf("lora_r %d: %s differs", r, m.Name)
			}
		}
		mustContain(t, again.Restore(at), "got one that has done 5 steps")
		mustContain(t, tuned(moved).Restore(at), "the run began with the model some/where, whose weights have sha256")
		c.LearningRate *= 2
		mustContain(t, tuned(cp).Restore(at), "learning_rate")
		c.LearningRate /= 2
		if r == 0 {
			continue
		}
		f, err := train.OpenWeights(at)
		if err != nil || slices.ContainsFunc(
			f.Entries, func(e safetensors.Entry) bool { return !adapterName(e.Name) },
		) {
			t.Errorf("got %d tensors (%v), want adapters alone", len(f.Entries), err)
		}
		if err := Fits()(at); err != nil {
			t.Errorf("Fits: %v", err)
		}
		_, err = LoadModel(graph.New(graph.Float32, 1), at)
		mustContain(t, err, "got adapters without the weights to which they belong")
		_, err = Resume(one.Config(), base.Corpus, base.Tokenizer, at)
		mustContain(t, err, "got adapters without the weights to which they belong")
	}
	_, err := base.TuningFiles("")
	mustContain(t, err, "it began with no other model")
	mustContain(t, newTrainer(t, tiny()).Restore(nil), "checkpoint: got nil")
}

// A training that begins with experts that nothing balances gets the usual loss; one that is resumed keeps what it has.
// A bias, a given factor and experts that all tokens pass leave the factor as it is.
func TestExpertsAreBalancedByDefault(t *testing.T) {
	c := tiny()
	c.MLP, c.Experts.NumExperts = "moe", 4
	trainer := newTrainer(t, c)
	if got := trainer.Config().Experts.RouterAuxLossCoef; got != 0.01 ||
		trainer.Model.Config.Experts.RouterAuxLossCoef != got {
		t.Errorf("got router_aux_loss_coef %v, want 0.01", got)
	}
	resumed, err := Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 0, files(t, trainer)))
	if err != nil || resumed.Config().Experts.RouterAuxLossCoef != 0.01 {
		t.Errorf("resumed: got %v, %v", resumed.Config().Experts.RouterAuxLossCoef, err)
	}
	old, err := trainerAt(c, trainer.Corpus, trainer.Tokenizer, 0, nil) // as an earlier version began it
	if err != nil {
		t.Fatal(err)
	}
	steps(t, old, 2)
	resumed, err = Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 2, files(t, old)))
	if err != nil {
		t.Fatal(err)
	}
	steps(t, old, 2)
	steps(t, resumed, 2)
	for i, p := range old.Model.Params() {
		if !slices.Equal(p.Tensor().F32, resumed.Model.Params()[i].Tensor().F32) {
			t.Errorf("a run without a balance: %s differs after it was resumed", p.Name())
		}
	}
	for _, change := range []func(*Config){
		func(c *Config) { c.Experts.RouterBiasUpdateRate = 0.1 },
		func(c *Config) { c.Experts.NumExpertsPerTok = 4 },
		func(c *Config) { c.MLP, c.Experts.NumExperts = "", 0 },
		func(c *Config) { c.Experts.RouterAuxLossCoef = 0.5 },
	} {
		c := c
		change(&c)
		if got := newTrainer(t, c).Config().Experts.RouterAuxLossCoef; got != c.Experts.RouterAuxLossCoef {
			t.Errorf("%+v: got router_aux_loss_coef %v", c.Stack, got)
		}
	}
}
