package gpt

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// A Config with any numbers is an error, or a model that trains and generates.
func TestNoPanicConfig(t *testing.T) {
	trials := 2000
	if testing.Short() {
		trials = 400
	}
	data, tok := corpus(t, verses, 8)
	rng := rand.New(rand.NewPCG(3, 3))
	pick := func(p *int, usual ...int) {
		if odd := []int{-1, 0, 1, 7, 1 << 40, math.MaxInt, math.MinInt}; rng.IntN(12) == 0 {
			usual = odd
		}
		*p = usual[rng.IntN(len(usual))]
	}
	rate := func(p *float64, usual ...float64) {
		if odd := []float64{-1, 1, math.NaN(), math.Inf(1), 1e300, 5e-324}; rng.IntN(12) == 0 {
			usual = odd
		}
		*p = usual[rng.IntN(len(usual))]
	}
	built := 0
	for range trials {
		c := tiny()
		pick(&c.BlockSize, 1, 2, 8)
		pick(&c.VocabSize, 0, tok.Size(), tok.Size()+1)
		pick(&c.NLayer, 1, 2)
		pick(&c.NHead, 1, 2, 4)
		pick(&c.NEmbd, 4, 8)
		pick(&c.QKSize, 0, 1, 3)
		pick(&c.VSize, 0, 1, 3)
		pick(&c.NInner, 0, 1, 5)
		pick(&c.BatchSize, 1, 2, 3)
		pick(&c.GradientAccumulationSteps, 1, 2)
		pick(&c.EvalIters, 1, 2)
		pick(&c.LoraR, 0, 0, 2)
		pick(&c.Threads, 0, 1, 3)
		pick(&c.WarmupIters, 0, 4)
		rate(&c.Dropout, 0, 0.5, 0.999)
		rate(&c.Eps, 0, 1e-3)
		rate(&c.LearningRate, 1e-3)
		rate(&c.GradClip, 0, 1)
		rate(&c.WeightDecay, 0, 1)
		rate(&c.Beta1, 0, 0.9)
		c.Bias, c.Kernels = rng.IntN(2) == 0, rng.IntN(8) > 0
		c.Head = []string{"", "tied", "linear", "two"}[rng.IntN(4)]
		c.Position = []string{"", "learned", "none", "left"}[rng.IntN(4)]
		c.Attention = []string{"", "causal", "window", "alternating", "full"}[rng.IntN(5)]
		c.Options.Offer("window", rng.IntN(12)-1)
		c.Block = []string{"", "pre", "post", "side"}[rng.IntN(4)]
		c.Activation = []string{"", "gelu", "gelu_tanh", "relu", "swish"}[rng.IntN(5)]
		if c.LoraR > 0 {
			c.LoraTargets = [][]string{nil, {"c_attn"}, {"mlp.c_proj", "c_fc"}, {""}, {"lm_head"}}[rng.IntN(5)]
		}
		trainer, err := NewTrainer(c, data, tok)
		if err != nil {
			continue
		}
		built++
		if _, err := trainer.Step(); err != nil {
			continue
		}
		if _, err := trainer.Evaluate(t.Context()); err != nil {
			continue
		}
		d, err := NewDecoder(trainer.Model, 1)
		if err != nil {
			t.Errorf("%+v: trains but does not write: %v", c, err)
			continue
		}
		for range 3 {
			prompt := make([]int, rng.IntN(12))
			for i := range prompt {
				pick(&prompt[i], 0, 1, 2)
			}
			if logits, err := d.Feed(prompt); err == nil {
				if _, err := search.NewSampler(1).Draw(logits); err != nil {
					t.Errorf("%+v: %v", c, err)
				}
			}
		}
	}
	t.Logf("%d of %d configurations were built", built, trials)
	if built < trials/50 {
		t.Error("too few were: the test shows little")
	}
}

func TestNoPanicModel(t *testing.T) {
	for _, batch := range []int{0, -1, math.MinInt, math.MaxInt, 1 << 50} {
		c := tiny()
		c.VocabSize = 11
		if _, err := New(emptyGraph(), c, batch); err == nil {
			t.Errorf("a batch of %d was accepted", batch)
		}
	}
	if _, err := New(emptyGraph(), Config{}, 1); err == nil {
		t.Error("the zero Config was accepted")
	}
	g := emptyGraph()
	c := tiny()
	c.VocabSize = 11
	if _, err := New(g, c, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := New(g, c, 1); err == nil {
		t.Error("two models on one Graph were accepted")
	}
}

// Files that were truncated or had a byte changed are an error or, if only a number has changed, a model.
func TestNoPanicFiles(t *testing.T) {
	trainer := newTrainer(t, tiny())
	steps(t, trainer, 1)
	trials := 300
	if testing.Short() {
		trials = 60
	}
	rng := rand.New(rand.NewPCG(4, 4))
	contents := map[string][]byte{}
	for _, f := range files(t, trainer) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = b.Bytes()
	}
	fresh := newTrainer(t, tiny())
	for range trials {
		damaged := bytes.Clone(contents[train.WeightsFile])
		header := 8 + len(damaged)/8
		if at := rng.IntN(header); rng.IntN(4) == 0 {
			damaged = damaged[:at]
		} else {
			damaged[at] ^= 1 << rng.IntN(8)
		}
		fresh.Model.ReadWeights(damaged)
		damaged = bytes.Clone(contents[train.OptimizerFile])
		damaged[rng.IntN(header)] ^= 1 << rng.IntN(8)
		if f, err := safetensors.Open(bytes.NewReader(damaged), int64(len(damaged))); err == nil {
			train.Restore(fresh.Moments(), f)
		}
	}
	if _, err := LoadModel(emptyGraph(), &checkpoint.Checkpoint{}); err == nil {
		t.Error("an empty checkpoint was accepted")
	}
	if _, err := Resume(tiny(), trainer.Corpus, trainer.Tokenizer, &checkpoint.Checkpoint{}); err == nil {
		t.Error("an empty checkpoint was accepted")
	}
}

// Any prompt, with any setting of the sampler, gives an error or the requested number of tokens of the vocabulary.
func FuzzPrompt(f *testing.F) {
	trainer := newTrainer(f, tiny())
	d := newDecoderOf(f, trainer.Model)
	f.Add("The river", 0.8, 200, 1.0)
	f.Add("", 1.0, 0, 0.0)
	f.Add("\n", 0.0, -1, 0.5)
	f.Add("longer than the window of eight", 1e-300, 1, 1e-300)
	f.Add("ünheard-of", 1.0, 1, 0.9)
	f.Add("\xff\x00", math.Inf(1), math.MinInt, math.NaN())
	f.Fuzz(func(t *testing.T, prompt string, temperature float64, topK int, topP float64) {
		ids, err := trainer.Tokenizer.Encode(prompt)
		if err != nil {
			return
		}
		d.Reset()
		s := search.NewSampler(1)
		s.Temperature, s.TopK, s.TopP = temperature, topK, topP
		count := 0
		for id, err := range generate(t.Context(), d, ids, 12, s) {
			if err != nil {
				if len(ids) > 0 && s.Validate() == nil {
					t.Errorf("prompt %q, sampler %v %v %v: %v", prompt, temperature, topK, topP, err)
				}
				return
			}
			if id < 0 || id >= trainer.Tokenizer.Size() {
				t.Fatalf("token %d of a vocabulary of %d", id, trainer.Tokenizer.Size())
			}
			count++
		}
		if count != 12 || len(ids) == 0 || s.Validate() != nil {
			t.Errorf("prompt %q, sampler %v %v %v: %d tokens, want 12 or an error", prompt, temperature, topK, topP, count)
		}
	})
}
