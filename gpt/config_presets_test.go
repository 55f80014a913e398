package gpt

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// The recipes fine-tune the network of a checkpoint, all of it or adapters alone, and reduce the loss.
func TestTuning(t *testing.T) {
	base := newTrainer(t, tiny())
	steps(t, base, 3)
	cp := saved(t, 3, files(t, base))
	for name, c := range map[string]Config{"full": FullTuning(), "LoRA": LoRATuning()} {
		c.GradientAccumulationSteps = 2
		c.LearningRate *= 10 // for a small model
		tuned, err := FineTune(c, base.Corpus, base.Tokenizer, cp)
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
	want.LearningRate, want.WeightDecay, want.LoraR, want.LoraAlpha = 3e-4, 0, 8, 16
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
		tuned, err := FineTune(c, base.Corpus, base.Tokenizer, cp)
		if tc.bytes < again {
			mustContain(t, err, "memory: got about")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := tuned.Config().Recompute; got != tc.recompute {
			t.Errorf("of %.0f to %.0f bytes at most %.0f: recompute %t, want %t", again, kept, tc.bytes, got, tc.recompute)
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
	data, err := text.LoadAnswers(path, tok, text.Template{}, c.BlockSize)
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

// The factor α/√r is that of rsLoRA.
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

// The presets are the published recipes, number by number, each written as its differences from the first.
func TestPresets(t *testing.T) {
	const shakespeare = `{"block_size":64,"vocab_size":0,"n_layer":4,"n_head":4,"n_embd":128,"dropout":0,"bias":false,"qk_size":0,
		"v_size":0,"n_inner":0,"eps":0,"rope_theta":0,"lora_r":0,"lora_alpha":0,"lora_targets":[],"lora_scale":"","position":"learned",
		"attention":"causal","norm":"layernorm","block":"pre","activation":"gelu","head":"tied","window":16,"dilation":0,"global_tokens":1,
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
