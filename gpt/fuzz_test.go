package gpt

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// written returns the content of a file of a checkpoint.
func written(t testing.TB, write func(w *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzState: no state.json makes the reader panic, and an accepted one is the same after writing and reading.
func FuzzState(f *testing.F) {
	contents := map[string][]byte{}
	trainer := newTrainer(f, tiny())
	list, err := trainer.Files()
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range list {
		contents[file.Name] = written(f, func(b *bytes.Buffer) error { return file.Write(b) })
	}
	f.Add(bytes.ReplaceAll(contents[train.StateFile], []byte(`"step": 0`), []byte(`"step": 3`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(data []byte) (s train.State[Config], err error) {
			cp, err := checkpoint.Load(
				fuzzed.Planted(t, map[string][]byte{train.StateFile: nil}, train.StateFile, data),
			)
			if err != nil {
				t.Fatal(err)
			}
			defer cp.Close()
			fuzzed.Bounded(
				t, fuzzed.Linear(len(data)), 10*time.Second, func() { s, err = readState(cp, parts.Registry{}) },
			)
			return s, err
		}
		s, err := read(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(text)
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("after JSON (-want +got):\n%s", diff)
		}
	})
}

// FuzzMoments: no file of moments makes the reader panic. A refused one changes nothing, and an accepted one has the
// same numbers after writing and reading.
func FuzzMoments(f *testing.F) {
	c := tiny()
	c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner = 1, 1, 2, 1, 1, 2
	trainer := newTrainer(f, c)
	steps(f, trainer, 1)
	f.Add(written(f, func(b *bytes.Buffer) error { return writeMoments(trainer)(b) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := written(t, func(b *bytes.Buffer) error { return writeMoments(trainer)(b) })
		read := func(data []byte) (err error) {
			fuzzed.Bounded(t, fuzzed.Linear(len(data)+len(before)), 10*time.Second, func() {
				var file *safetensors.File
				if file, err = safetensors.Open(bytes.NewReader(data), int64(len(data))); err == nil {
					err = train.Restore(trainer.Moments(), file)
				}
			})
			return err
		}
		accepted := read(data)
		after := written(t, func(b *bytes.Buffer) error { return writeMoments(trainer)(b) })
		if accepted != nil {
			if !bytes.Equal(after, before) {
				t.Fatalf("refused (%v), and yet changed", accepted)
			}
			return
		}
		if err := read(after); err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if again := written(
			t, func(b *bytes.Buffer) error { return writeMoments(trainer)(b) },
		); !bytes.Equal(again, after) {
			t.Fatal("written and read the moments are others")
		}
	})
}

// FuzzAdapters: the same for a file of adapters.
func FuzzAdapters(f *testing.F) {
	c := tiny()
	c.VocabSize, c.LoraR, c.LoraTargets = 11, 2, []string{"c_fc"}
	m, err := New(emptyGraph(), c, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written(f, func(b *bytes.Buffer) error { return m.WriteAdapters(b) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := written(t, func(b *bytes.Buffer) error { return m.WriteAdapters(b) })
		read := func(data []byte) (err error) {
			fuzzed.Bounded(
				t, fuzzed.Linear(len(data)+len(before)), 10*time.Second, func() { err = m.ReadAdapters(data) },
			)
			return err
		}
		accepted := read(data)
		after := written(t, func(b *bytes.Buffer) error { return m.WriteAdapters(b) })
		switch {
		case accepted != nil && !bytes.Equal(after, before):
			t.Fatalf("refused (%v), and yet changed", accepted)
		case accepted == nil && read(after) != nil:
			t.Fatalf("cannot read what was written: %v", read(after))
		}
		if again := written(t, func(b *bytes.Buffer) error { return m.WriteAdapters(b) }); !bytes.Equal(again, after) {
			t.Fatal("written and read the adapters are others")
		}
	})
}

// useAll uses a checkpoint in every way until the first error.
func useAll(trainer *Trainer, path string) error {
	cp, err := checkpoint.Load(path, Fits())
	if err != nil {
		return err
	}
	defer cp.Close()
	if _, err := LoadModel(emptyGraph(), cp); err != nil {
		return err
	}
	if _, err := LoadTokenizer(cp); err != nil {
		return err
	}
	_, err = Resume(trainer.Config(), trainer.Corpus, trainer.Tokenizer, cp)
	return err
}

// TestHostileCheckpoint replaces each file of a checkpoint with each of 60 hostile ones.
func TestHostileCheckpoint(t *testing.T) {
	trainer := newTrainer(t, tiny())
	steps(t, trainer, 3)
	contents := map[string][]byte{}
	for _, f := range files(t, trainer) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = b.Bytes()
	}
	every := 24
	if testing.Short() {
		every = 32
	}
	c := fuzzed.Checkpoints{
		Largest: checkpoint.MaxFile, Every: every, Use: func(path string) error { return useAll(trainer, path) },
		Swaps: [][2]string{
			{`"F32"`, `"F64"`}, {`"F32"`, `"I8"`}, {`[41,16]`, `[41,1099511627776]`}, {`[41,16]`, `[-41,16]`},
			{`"shape":[`, `"shape":[0,`}, {"wte", "w\x1be"},
			{`"step": 3`, `"step": -3`}, {`"step": 3`, `"step": 4611686018427387904`},
			{`"n_layer": 2`, `"n_layer": 134217728`}, {`"n_embd": 16`, `"n_embd": 268435456`},
			{`"vocab_size": 41`, `"vocab_size": 268435456`}, {`"block_size": 8`, `"block_size": 90000`},
			{`"n_head": 2`, `"n_head": 0`}, {`"seed": 7`, `"seed": 1e400`},
			{`"attention": "causal"`, `"attention": "\u001b[2J"`},
			{`"batches": "`, `"batches": "` + strings.Repeat("AAAA", 1<<20)},
			{`"vocab": "`, `"vocab": "\u0000`},
		},
	}
	c.Around = map[string]map[string][]byte{ // the configuration is not read where there is a state
		configFile: {train.WeightsFile: contents[train.WeightsFile], configFile: contents[configFile]},
	}
	c.Check(
		t, contents, train.WeightsFile, train.OptimizerFile, train.StateFile, charactersFile, configFile,
		fuzzed.Manifest,
	)
}

// A context whose mask would need 4 TB is refused with the network alone in the reference form, before anything of that
// size is allocated. Kernels compute the rows of masks, and a recurrence has none.
func TestHugeMasksAreRefused(t *testing.T) {
	base := tiny()
	base.VocabSize, base.QKSize = 65, 4
	for _, c := range everyPart(base) {
		for _, kernels := range []bool{true, false} {
			c.Kernels, c.BlockSize, c.MemoryLimit = kernels, 1<<20, 64
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			err := c.ValidateModel()
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 16<<20 || took > time.Second {
				t.Errorf(
					"%s %s %s, kernels %t: %d bytes allocated in %v", c.Attention, c.Position, c.Block, kernels, bytes,
					took,
				)
			}
			if !kernels && strings.Contains(c.Attention, ",") {
				continue // too large if one of the two is
			}
			if kernels || recurrent(c.Attention) || c.Block == "elman" {
				if err != nil {
					t.Errorf("%s %s, kernels %t: %v", c.Attention, c.Block, kernels, err)
				}
				continue
			}
			for _, want := range []string{
				"memory: got about ", "GiB for parameters and masks of ", "block_size 1048576", "want at most 64 GiB",
			} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf(
						"%s %s %s, kernels %t: got %v, want %q", c.Attention, c.Position, c.Block, kernels, err, want,
					)
				}
			}
		}
	}
}

// New uses the Graph's Kernels, not the Config's.
func TestHugeMaskOfTheGraph(t *testing.T) {
	c := tiny()
	c.VocabSize, c.Attention, c.BlockSize = 65, "linear", 1<<14
	for _, kernels := range []bool{true, false} {
		g := limited(1 << 29)
		g.Kernels, c.Kernels = kernels, !kernels
		if _, err := New(g, c, 1); (err == nil) != kernels {
			t.Errorf("kernels %t of the graph: got error %v", kernels, err)
		} else if err != nil {
			mustContain(
				t, err, "got about 1.0", "GiB for parameters and masks", "block_size 16384", "want at most 0.5 GiB",
			)
		}
	}
}

// A Config with any numbers is an error, or a model that trains and generates.
func TestNoPanicConfig(t *testing.T) {
	trials := 400
	if os.Getenv("NIGHTLY") != "" {
		trials = 1000
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
		count, refused := 0, false
		fuzzed.Bounded(t, fuzzed.Linear(len(prompt)), 10*time.Second, func() {
			for id, err := range generate(t.Context(), d, ids, 12, s) {
				if err != nil {
					if len(ids) > 0 && s.Validate() == nil {
						t.Errorf("prompt %q, sampler %v %v %v: %v", prompt, temperature, topK, topP, err)
					}
					refused = true
					return
				}
				if id < 0 || id >= trainer.Tokenizer.Size() {
					t.Fatalf("token %d of a vocabulary of %d", id, trainer.Tokenizer.Size())
				}
				count++
			}
		})
		if !refused && (count != 12 || len(ids) == 0 || s.Validate() != nil) {
			t.Errorf(
				"prompt %q, sampler %v %v %v: %d tokens, want 12 or an error", prompt, temperature, topK, topP, count,
			)
		}
	})
}
