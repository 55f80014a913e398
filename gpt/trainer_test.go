package gpt

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Training works: some hundred steps reduce the loss from a guess's to below the entropy of the letters' frequencies.
func TestTrainerLearns(t *testing.T) {
	c := tiny()
	c.MaxIters, c.LRDecayIters = 300, 300
	trainer := newTrainer(t, c)
	guess := math.Log(float64(trainer.Tokenizer.Size()))
	list := steps(t, trainer, 300)
	if first := list[0].Loss; !(math.Abs(first-guess) < 0.1) {
		t.Errorf("loss %.3f in the first step, want about ln V = %.3f", first, guess)
	}
	var last float64
	for _, p := range list[250:] {
		last += p.Loss / 50
	}
	count, letters := map[int]float64{}, 0.0
	for _, id := range tokens(t, trainer.Corpus.Train()) {
		count[id]++
	}
	for _, n := range count {
		n /= float64(trainer.Corpus.Train().Len())
		letters -= n * math.Log(n)
	}
	if !(last < letters-0.4) {
		t.Errorf("loss %.3f after 300 steps, want well below the letters' entropy %.3f", last, letters)
	}
	for i, p := range list {
		if p.Step != i+1 || p.Tokens != 3*8 || p.LR != c.RateAt(i) || p.FLOP != 24*FLOPsPerToken(trainer.Config()) {
			t.Fatalf("step %d reports %+v", i+1, p)
		}
	}
}

func TestNewTrainerErrors(t *testing.T) {
	data, tok := corpus(t, verses, 8)
	for name, tc := range map[string]struct {
		change func(*Config)
		words  []string
	}{
		"vocabulary": {func(c *Config) { c.VocabSize = 5 }, []string{"vocab_size: got 5", "different tokens"}},
		"heads":      {func(c *Config) { c.NHead, c.QKSize = 3, 0 }, []string{"n_head"}},
		"batch":      {func(c *Config) { c.BatchSize = 0 }, []string{"batch_size"}},
		"rate":       {func(c *Config) { c.LearningRate = math.NaN() }, []string{"learning_rate"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := tiny()
			tc.change(&c)
			_, err := NewTrainer(c, data, tok)
			mustContain(t, err, tc.words...)
		})
	}
	// A corpus for shorter blocks is detected when a batch is drawn.
	c := tiny()
	c.BlockSize = 400
	trainer, err := NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trainer.Evaluate(t.Context()); err == nil {
		t.Error("evaluated on a val split shorter than a block")
	}
	if _, err := trainer.EvaluateAll(t.Context(), nil); err == nil {
		t.Error("evaluated on a val split shorter than a block")
	}
}

// nanoGPT's get_lr at named iterations.
func TestLearningRate(t *testing.T) {
	c := Shakespeare() // 1e-3 to 1e-4, 100 of warm-up, 2000 iterations
	for it, want := range map[int]float64{
		0:     1e-3 * 1 / 101,
		49:    1e-3 * 50 / 101,
		99:    1e-3 * 100 / 101,
		100:   1e-3,
		575:   1e-4 + 9e-4*(1+math.Sqrt2/2)/2, // a quarter of the way down
		1050:  5.5e-4,
		1525:  1e-4 + 9e-4*(1-math.Sqrt2/2)/2,
		2000:  1e-4,
		2001:  1e-4,
		90000: 1e-4,
	} {
		if got := c.RateAt(it); !(math.Abs(got-want) <= 1e-15) {
			t.Errorf("iteration %d: %v, want %v", it, got, want)
		}
	}
	c.WarmupIters = 0
	if got := c.RateAt(0); got != 1e-3 {
		t.Errorf("without warm-up the first rate is %v, want 1e-3", got)
	}
	c.DecayLR = false
	for _, it := range []int{0, 50, 5000} {
		if got := c.RateAt(it); got != 1e-3 {
			t.Errorf("iteration %d without decay: %v, want 1e-3", it, got)
		}
	}
}

// The numbers of nanoGPT's estimate_mfu, 6N + 12·L·H·Q·n, with N the parameters without wpe and, if the head is not
// tied, without the table of the tokens, which is only looked up; and with n the mean number of keys in the tiles of
// the kernel instead of T.
func TestFLOPsPerToken(t *testing.T) {
	shakespeare := Shakespeare()
	shakespeare.VocabSize = 65
	sizes := shakespeare
	sizes.QKSize, sizes.VSize = 16, 48 // as many multiplications in both products as with 32 and 32
	part := func(change func(*Config)) Config { c := shakespeare; change(&c); return c }
	const blocks = 804_096 - 64*128 // and the tied table
	// keys: a window of 16 and the first token, and in the last head every second key
	const longformer = 952/64.0 - 120/64.0/4
	for name, tc := range map[string]struct {
		c    Config
		want float64
	}{
		"linear": {part(func(c *Config) { c.Attention = "linear" }), 6*blocks + 6*4*2*4*32*32},
		"longformer": {part(func(c *Config) { c.Attention = "longformer" }), 6*(blocks+4*128*384) +
			2*12*4*4*32*longformer},
		"mla_rope, 16 that turn": {part(func(c *Config) {
			c.Attention = "mla_rope"
			c.Position = "none"
		}), 6*738_560 + 6*4*48*4*(32+16+32)},
		"elman": {part(func(c *Config) { c.Block, c.Position = "elman", "none" }), 6 * 139_392},
		"adapters of rank 2 on c_fc": {part(func(c *Config) {
			c.LoraR = 2
			c.LoraTargets = []string{"c_fc"}
		}), 4*blocks + 6*4*2*(128+512) + 12*4*4*32*48},
		"shakespeare": {shakespeare, 6*(804_096-64*128) + 12*4*4*32*48},
		"four tokens": {part(func(c *Config) { c.FutureTokens = 4 }), 6*(blocks+3*(196_864+128+65*128)) + 12*7*4*32*48},
		"adapters, two tokens": {
			part(func(c *Config) { c.FutureTokens, c.LoraR, c.LoraTargets = 2, 2, []string{"c_fc"} }),
			4*(blocks+196_864+128+65*128) + 6*5*2*(128+512) + 12*5*4*32*48,
		},
		"gpt2, tied":           {GPT2(), 6*(124_439_808-1024*768) + 12*12*12*64*544},
		"gpt2":                 {untiedGPT2(), 6*(163_087_441-1024*768-50257*768) + 12*12*12*64*544},
		"heads of other sizes": {sizes, 6*(804_096-64*128-4*128*4*16+4*16*4*128) + 6*4*48*4*64},
	} {
		if got := FLOPsPerToken(tc.c); got != tc.want {
			t.Errorf("%s: %.0f, want %.0f", name, got, tc.want)
		}
	}
}

// A window of 16 and a causal mask are charged for the keys that they leave, not for all: at 1,024 tokens the sum is
// 2.1 and 1.4 times as large with all keys. The optimizer's products are shared by the tokens of a step; frozen
// parameters have none.
func TestWorkPerToken(t *testing.T) {
	c := Shakespeare()
	c.VocabSize, c.BlockSize, c.Attention = 65, 1024, "window"
	c.Options.Offer("window", 16)
	full := WorkPerToken(c).Weights + 12*4*4*32*1024
	if got, want := WorkPerToken(c).Mixing, 12*4*4*32*(64+15-15/16.0); got != want || !(full > 2.1*FLOPsPerToken(c)) {
		t.Errorf("window: got %v of %v with all keys, want %v", got, full, want)
	}
	c.Attention = ""
	if got, want := WorkPerToken(c).Mixing, float64(12*4*4*32*(1024+64)/2); got != want ||
		!(full > 1.35*FLOPsPerToken(c)) {
		t.Errorf("causal: got %v of %v with all keys, want %v", got, full, want)
	}
	c.Kernels = false
	if got := WorkPerToken(c).Total(); got != full {
		t.Errorf("without kernels: got %v, want %v", got, full)
	}
	c = Shakespeare()
	c.VocabSize, c.GradientAccumulationSteps, c.Optimizer, c.MuonSteps = 65, 3, "muon", 2
	const n, m, tokens = 128.0, 512.0, 12 * 64 * 3
	block := 4*8*n*n*n + 2*(3*n*n*m+5*n*n*n) // four matrices of attention and two of the MLP
	if got, want := WorkPerToken(c).Optimizer, 4*block/tokens; !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("muon: got %v, want %v", got, want)
	}
	c.Frozen = train.Frozen{"h.0.*"}
	if got, want := WorkPerToken(c).Optimizer, 3*block/tokens; !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("muon with a frozen block: got %v, want %v", got, want)
	}
	c.Frozen, c.MuonSteps, c.Optimizer = nil, 0, "soap"
	block = 4*2*(5+1)*n*n*n + 2*(5*(n*n*m+n*m*m)+(8*(n*n*n+m*m*m)+2*(n*n*m+n*m*m))/10)
	if got, want := WorkPerToken(c).Optimizer, 4*block/tokens; !(math.Abs(got-want) <= 1e-12*want) {
		t.Errorf("soap: got %v, want %v", got, want)
	}
	for _, name := range []string{"adamw", "sgd", "lion", "schedule_free"} {
		if c.Optimizer = name; WorkPerToken(c).Optimizer != 0 {
			t.Errorf("%s: got %v, want no products", name, WorkPerToken(c).Optimizer)
		}
	}
}

// Evaluations do not change the training.
func TestEvaluateLeavesTrainingAlone(t *testing.T) {
	quiet, busy := newTrainer(t, eventful()), newTrainer(t, eventful())
	want := steps(t, quiet, 6)
	var got []train.Progress
	for i := range 6 {
		for range i % 3 {
			if _, err := busy.Evaluate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if i%2 == 0 {
			if _, err := busy.EvaluateAll(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			feed(t, newDecoderOf(t, busy.Model), 1, 2, 3)
		}
		got = append(got, steps(t, busy, 1)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-without +with evaluations):\n%s", diff)
	}
	if fingerprint(t, quiet) != fingerprint(t, busy) {
		t.Error("evaluations changed the weights or the moments")
	}
}

// tokens returns the tokens of a split.
func tokens(t *testing.T, s text.Split) text.Tokens {
	t.Helper()
	ids := make(text.Tokens, s.Len())
	if err := s.Read(ids, 0); err != nil {
		t.Fatal(err)
	}
	return ids
}

// lossOf returns the loss without dropout of one block, fed in every row.
func lossOf(t *testing.T, trainer *Trainer, split text.Tokens, start int) float64 {
	t.Helper()
	m, size := trainer.Model, trainer.config.BlockSize
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i], m.Targets.Ints()[i] = split[start+i%size], split[start+i%size+1]
	}
	loss, err := lossNow(t.Context(), trainer)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

func TestEvaluateAll(t *testing.T) {
	c := eventful()
	trainer := newTrainer(t, c)
	steps(t, trainer, 20)
	val := tokens(t, trainer.Corpus.Val())
	blocks := (len(val) - 1) / c.BlockSize
	if blocks%c.BatchSize == 0 {
		t.Fatalf("%d blocks fill batches of %d: the last was to be partial", blocks, c.BatchSize)
	}
	var calls []int
	got, err := trainer.EvaluateAll(t.Context(), func(done, total int) {
		if calls = append(calls, done); total != blocks {
			t.Errorf("progress of %d blocks, want %d", total, blocks)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var want float64
	for i := range blocks {
		want += lossOf(t, trainer, val, i*c.BlockSize) / float64(blocks)
	}
	if !(math.Abs(got-want) <= 1e-6*want) {
		t.Errorf("got %.8f, want the mean over the blocks %.8f", got, want)
	}
	if n := len(calls); n != (blocks+c.BatchSize-1)/c.BatchSize || calls[n-1] != blocks {
		t.Errorf("progress was reported at %v of %d", calls, blocks)
	}
}

// TestCarry: with weights that do not change, the steps that walk through the text with a state have the loss of the
// text in one window, and then begin again. The evaluations of the validation split have the loss of its parts.
func TestCarry(t *testing.T) {
	for _, attention := range []string{"gated_deltanet", "gla", "mingru", "rglru"} {
		c := carrying(tiny(), attention)
		c.BatchSize, c.GradientAccumulationSteps, c.NLayer = 1, 1, 1
		c.LearningRate, c.MinLR, c.WeightDecay = 1e-30, 1e-30, 0
		trainer := newTrainer(t, c)
		blocks := text.Windows(trainer.Corpus.Train(), c.BlockSize)
		var got, first float64
		for i, p := range steps(t, trainer, blocks+1) {
			switch i {
			case blocks:
				if p.Loss != first {
					t.Errorf("%s: the text begins again with loss %v, not %v", attention, p.Loss, first)
				}
				continue
			case 0:
				first = p.Loss
			}
			got += p.Loss / float64(blocks)
		}
		whole := c
		whole.Carry, whole.BlockSize = false, blocks*c.BlockSize
		data := text.Dataset{Training: trainer.Corpus.Train(), Validation: trainer.Corpus.Train(), Sum: "whole"}
		one, err := NewTrainer(whole, data, trainer.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range one.Model.Params() {
			p.Tensor().Copy(trainer.Model.Params()[i].Tensor())
		}
		want, err := one.EvaluateAll(t.Context(), nil)
		if err != nil || !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%s: got %v in steps, %v, want %v as in one window", attention, got, err, want)
		}
		trainer.Corpus = data
		if got, err := trainer.EvaluateAll(t.Context(), nil); err != nil || !(math.Abs(got-want) <= 1e-5*want) {
			t.Errorf("%s: got %v in an evaluation, %v, want %v", attention, got, err, want)
		}
	}
}

// TestCarryRefuses: parts that hand on no state, and batches that continue no text.
func TestCarryRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"attention causal, which hands on no state": func(c *Config) { c.Attention = "causal" },
		"attention window, which hands": func(c *Config) {
			c.Attention = "gla,window"
			c.Options.Set("window", 2)
		},
		"attention linear, which hands":       func(c *Config) { c.Attention = "linear" },
		"position learned, which counts from": func(c *Config) { c.Position = "learned" },
		"position rope, which counts from": func(c *Config) {
			c.Attention = "retnet"
			c.Position = "rope"
			c.QKSize = 4
		},
		"a Fill of Hooks, whose batches": func(c *Config) {
			c.Hooks.Fill = func(int, int, []int, []int) error { return nil }
		},
		"got 900 rows in a step, batch_size × gradient_a": func(c *Config) { c.BatchSize = 900 },
		"a user-defined part, whose layers": func(c *Config) {
			c.Norm, c.Parts.Norms = "own", []parts.Norm{{Name: "own", New: parts.Norms()[0].New}}
		},
	} {
		c := carrying(tiny(), "gla")
		change(&c)
		data, tok := corpus(t, verses, c.BlockSize)
		trainer, err := NewTrainer(c, data, tok)
		if err == nil {
			_, err = trainer.Step()
		}
		mustContain(t, err, "carry: got", want)
	}
}

// Examples of answers are refused before anything is built: none continues another.
func TestCarryRefusesAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := strings.Repeat(`{"prompt": "ab", "completion": "c"}`+"\n", 9)
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	tok, err := text.NewCharacters("abc")
	if err != nil {
		t.Fatal(err)
	}
	c := carrying(tiny(), "gla")
	data, err := chat.LoadAnswers(path, tok, chat.Template{}, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewTrainer(c, data, tok)
	mustContain(t, err, "carry: got true: batch: got examples, of which none continues another, want one text")
	c.Carry = false
	if _, err := NewTrainer(c, data, tok); err != nil {
		t.Error(err)
	}
}

func TestEvaluate(t *testing.T) {
	c := eventful()
	c.EvalIters = 200
	trainer := newTrainer(t, c)
	if !math.IsInf(trainer.Best, 1) {
		t.Errorf("best val loss %v before the first evaluation, want +Inf", trainer.Best)
	}
	steps(t, trainer, 20)
	e, err := trainer.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]struct {
		split text.Tokens
		got   float64
	}{"train": {tokens(t, trainer.Corpus.Train()), e.Train}, "val": {tokens(t, trainer.Corpus.Val()), e.Val}} {
		var want float64 // over every start
		n := len(part.split) - c.BlockSize
		for start := range n {
			want += lossOf(t, trainer, part.split, start) / float64(n)
		}
		if !(math.Abs(part.got-want) < 0.05) {
			t.Errorf("%s: estimated %.4f, the mean over all blocks is %.4f", name, part.got, want)
		}
	}
	if again, err := trainer.Evaluate(t.Context()); err != nil || again != e {
		t.Errorf("the second time %v (%v), the first %v", again, err, e)
	}
	if trainer.Best != e.Val || e.BitsPerChar() != e.Val/math.Ln2 {
		t.Errorf("best %v, bits %v of val loss %v", trainer.Best, e.BitsPerChar(), e.Val)
	}
	trainer.Best = 0.5
	steps(t, trainer, 1)
	if _, err := trainer.Evaluate(t.Context()); err != nil || trainer.Best != 0.5 {
		t.Errorf("a worse evaluation replaced the best (%v): %v", err, trainer.Best)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := trainer.Evaluate(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancelling: %v", err)
	}
	if _, err := trainer.EvaluateAll(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancelling: %v", err)
	}
}

// Two micro-batches are equal to one batch of twice the size, up to rounding.
func TestAccumulation(t *testing.T) {
	two, one := tiny(), tiny()
	two.GradientAccumulationSteps = 2
	one.BatchSize = 6
	two.GradClip, one.GradClip = 0.3, 0.3
	a, b := newTrainer(t, two), newTrainer(t, one)
	for range 5 {
		p, q := steps(t, a, 1)[0], steps(t, b, 1)[0]
		if !(math.Abs(p.Loss-q.Loss) <= 1e-6*q.Loss) || !(math.Abs(p.Norm-q.Norm) <= 1e-5*q.Norm) ||
			p.Tokens != q.Tokens {
			t.Errorf("step %d: 2×3 gives %+v, 1×6 %+v", p.Step, p, q)
		}
	}
	want := b.Model.Params()
	for i, p := range a.Model.Params() {
		x, y := p.Tensor().Floats(), want[i].Tensor().Floats()
		var diff float64
		for j := range x {
			diff = math.Max(diff, math.Abs(x[j]-y[j]))
		}
		if !(diff <= 1e-5) {
			t.Errorf("%s: off by %.2g after 5 steps", p.Name(), diff)
		}
	}
}

// An evaluation also measures the averages of the weights, and Averaged is a model of them, which can be exported.
func TestAveraged(t *testing.T) {
	c := tiny()
	c.EMA, c.Frozen = 0.5, []string{"wpe.*"}
	trainer := newTrainer(t, c)
	start, err := trainer.Evaluate(t.Context())
	if err != nil || !(math.Abs(start.ValEMA-start.Val) <= 1e-6) {
		t.Errorf("before the first step: %+v, %v, want equal losses of the weights and their averages", start, err)
	}
	steps(t, trainer, 4)
	e, err := trainer.Evaluate(t.Context())
	if err != nil || e.ValEMA == e.Val {
		t.Errorf("after four steps: %+v, %v, want two losses", e, err)
	}
	m, err := trainer.Averaged()
	if err != nil {
		t.Fatal(err)
	}
	averages := trainer.Averages()
	for i, p := range m.Params() {
		want := trainer.Model.Params()[i].Tensor()
		if j := slices.IndexFunc(averages, func(a train.Named) bool { return a.Name == p.Name() }); j >= 0 {
			want = averages[j].Tensor
		} else if !c.Frozen.Has(p.Name()) {
			t.Errorf("%s has no average", p.Name())
		}
		if !slices.Equal(p.Tensor().F32, want.F32) {
			t.Errorf("%s: got other numbers than the average's", p.Name())
		}
	}
	path := t.TempDir()
	if _, err := m.Files(trainer.Tokenizer); err != nil {
		t.Error(err)
	}
	if err := trainer.Save(path); err != nil {
		t.Fatal(err)
	}
	c.EMA = 0
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
	mustContain(t, err, "ema: got 0, want 0.5")
	_, err = newTrainer(t, tiny()).Averaged()
	mustContain(t, err, "ema: got 0, which keeps no averages")
}

// After the first step m = (1 − β₁)·g and v = (1 − β₂)·g², with g clipped over all parameters together.
func TestClip(t *testing.T) {
	for _, clip := range []float64{0, 1e-3, 1e3} {
		c := eventful()
		c.GradClip = clip
		trainer := newTrainer(t, c)
		norm := steps(t, trainer, 1)[0].Norm
		var m2, v1 float64
		for _, moment := range trainer.Moments() {
			for i := range moment.Len() {
				if x := moment.At(i); strings.HasPrefix(moment.Name, "m.") {
					m2 += x * x
				} else {
					v1 += x
				}
			}
		}
		want := norm
		if clip > 0 {
			want = min(norm, clip)
		}
		if got := math.Sqrt(m2) / (1 - c.Beta1); !(math.Abs(got-want) <= 1e-4*want) {
			t.Errorf(
				"clip %v: the first moment is of a gradient of norm %.6g, want %.6g (before clipping %.6g)", clip, got,
				want, norm,
			)
		}
		if got := math.Sqrt(v1 / (1 - c.Beta2)); !(math.Abs(got-want) <= 1e-4*want) {
			t.Errorf("clip %v: the second moment is of a gradient of norm %.6g, want %.6g", clip, got, want)
		}
	}
}

// With adapters the base does not change, not even by weight decay.
func TestAdaptersAlone(t *testing.T) {
	c := tiny()
	c.LoraR, c.WeightDecay = 2, 10
	trainer := newTrainer(t, c)
	before := map[string][]float64{}
	for _, p := range trainer.Model.Params() {
		before[p.Name()] = p.Tensor().Floats()
	}
	steps(t, trainer, 3)
	for _, p := range trainer.Model.Params() {
		moved := !cmp.Equal(before[p.Name()], p.Tensor().Floats())
		if adapter := strings.Contains(p.Name(), ".lora_"); moved != adapter {
			t.Errorf("%s: changed %v", p.Name(), moved)
		}
	}
}

// Dropout acts in every step, each time on other entries, and in no evaluation.
func TestDropoutWhileTraining(t *testing.T) {
	c := tiny()
	plain := newTrainer(t, c)
	c.Dropout = 0.5
	dropping := newTrainer(t, c)
	seen := map[float64]bool{}
	for range 4 {
		a, err := plain.Evaluate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := dropping.Evaluate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if a != b {
			t.Errorf("evaluation with dropout %v, without %v", b, a)
		}
		before := map[string]graph.Tensor{}
		for _, p := range plain.Model.Params() {
			before[p.Name()] = p.Tensor().Clone()
		}
		plain.batches.Seed(1, 1) // the same batch every time
		dropping.batches.Seed(1, 1)
		p, q := steps(t, plain, 1)[0], steps(t, dropping, 1)[0]
		if p.Loss == q.Loss || seen[q.Loss] {
			t.Errorf("step %d drops nothing, or what another step dropped: loss %v", p.Step, q.Loss)
		}
		seen[q.Loss] = true
		for i, p := range plain.Model.Params() { // and the same weights
			copy(p.Tensor().F32, before[p.Name()].F32)
			copy(dropping.Model.Params()[i].Tensor().F32, before[p.Name()].F32)
		}
	}
}

// lossNow returns the loss of the batch that is in the network.
func lossNow(ctx context.Context, trainer *Trainer) (loss float64, err error) {
	batch := func(yield func(float64, error) bool) { yield(1, nil) }
	err = trainer.Losses(ctx, batch, func(_ []float64, mean float64) { loss = mean })
	return loss, err
}

// Two evaluations at one step are equal to the bit. At the next step, with the same weights, the batches differ, and so
// do the eval_iters batches of one evaluation.
func TestEvaluateDrawsBatches(t *testing.T) {
	c := tiny()
	c.Hooks.Rate = func(int) float64 { return 0 }
	c.WeightDecay = 0
	once := c
	once.EvalIters = 1
	tr, one := newTrainer(t, c), newTrainer(t, once)
	evaluate := func(tr *Trainer) Evaluation { return must(tr.Evaluate(context.Background())) }
	first := evaluate(tr)
	if again := evaluate(tr); again != first {
		t.Errorf("the same step again: got %v, want %v", again, first)
	}
	if e := evaluate(one); e.Val == first.Val || e.Train == first.Train {
		t.Errorf("%d batches have the losses of one: %v", c.EvalIters, e)
	}
	steps(t, tr, 1)
	if e := evaluate(tr); e.Val == first.Val || e.Train == first.Train {
		t.Errorf("after a step the batches are those before it: %v", e)
	}
	c.Seed++
	other := newTrainer(t, c)
	for i, p := range other.Model.Params() { // of the same weights
		if err := p.Tensor().Fill(tr.Model.Params()[i].Tensor().Floats()...); err != nil {
			t.Fatal(err)
		}
	}
	if e := evaluate(other); e.Val == first.Val || e.Train == first.Train {
		t.Errorf("with another seed the batches are the same: %v", e)
	}
}
