package gpt

import (
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
	d, err := NewDecoder(trainer.Model)
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
			logits, err := d.Feed(ids...)
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
