package gpt

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pkg/errors"
)

// Run does the remaining steps, each once, even if the caller breaks out and continues, or evaluates and saves in
// between.
func TestRun(t *testing.T) {
	c := eventful()
	c.MaxIters = 7
	want, trainer := newTrainer(t, c), newTrainer(t, c)
	list := steps(t, want, c.MaxIters)
	dir := t.TempDir()
	var got []train.Progress
	for range 3 { // the last has nothing left
		for p, err := range trainer.Run(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			p.Took = 0
			if got = append(got, p); p.Step == 3 {
				if _, err := trainer.Evaluate(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := trainer.Save(dir); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	}
	for i, p := range got {
		if i >= len(list) || !cmp.Equal(p, list[i]) {
			t.Errorf("yielded %+v at place %d, want %+v", p, i, list)
		}
	}
	if len(got) != c.MaxIters || fingerprint(t, trainer) != fingerprint(t, want) {
		t.Errorf("%d steps, want %d and the same bits", len(got), c.MaxIters)
	}
	m, tok, err := Open(dir)
	if err != nil || m.Config.NEmbd != c.NEmbd || tok.Size() != trainer.Tokenizer.Size() {
		t.Fatalf("opened %v, %v (%v)", m, tok, err)
	}
}

// Run ends with its context and with a step that fails, after which the trainer is unchanged.
func TestRunEnds(t *testing.T) {
	trainer := newTrainer(t, tiny())
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough, n := errors.New("enough"), 0
	for p, err := range trainer.Run(ctx) {
		if n++; p.Step == 2 {
			cancel(enough)
		}
		if n == 3 && (!errors.Is(err, enough) || err.Error() != "before step 3: enough") {
			t.Errorf("got %v, want that it was enough", err)
		}
	}
	if n != 3 || trainer.Done != 2 {
		t.Errorf("yielded %d times, %d steps done, want 3 and 2", n, trainer.Done)
	}
	w := trainer.Model.Params()[0].Tensor()
	before := w.F32[0]
	w.F32[0] = float32(math.Inf(1))
	for _, err := range trainer.Run(t.Context()) {
		if n++; err == nil {
			t.Error("a step with an infinite weight")
		}
	}
	w.F32[0] = before
	for p, err := range trainer.Run(t.Context()) {
		if n++; p.Step != 3 || err != nil {
			t.Errorf("got step %d (%v), want 3", p.Step, err)
		}
		break
	}
	if n != 5 {
		t.Errorf("yielded %d times, want 5", n)
	}
	for _, nothing := range []*Trainer{nil, {}} {
		for _, err := range nothing.Run(t.Context()) {
			mustContain(t, err, "want a trainer")
		}
	}
}

// Nothing to open, and a checkpoint without a tokenizer, are errors.
func TestOpenErrors(t *testing.T) {
	_, _, err := Open(t.TempDir())
	mustContain(t, err, "no checkpoint")
	alone, err := newTrainer(t, tiny()).Model.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = Open(saved(t, 1, alone).Path)
	mustContain(t, err, "no tokenizer")
}

// A hook that changes nothing changes no bit, for every kind of step.
func TestHooksThatLook(t *testing.T) {
	for name, c := range map[string]Config{"one micro-batch": tiny(), "two": eventful()} {
		plain := newTrainer(t, c)
		c.Hooks.Rate = c.RateAt
		c.Hooks.Loss = func(logits, targets graph.Expr) graph.Expr {
			hooked := c
			hooked.Hooks.Loss = nil
			return hooked.loss(logits.Graph().Root().Sub("loss"), logits, targets)
		}
		seen, shown := 0, 0.0
		c.Hooks.Gradients = func(step int, grads []train.Named) error {
			var squares float64
			for _, g := range grads {
				for _, x := range g.Floats() {
					squares += x * x
				}
			}
			if shown = math.Sqrt(squares); step != seen {
				t.Errorf("%s: shown step %d, want %d", name, step, seen)
			}
			seen++
			return nil
		}
		hooked := newTrainer(t, c)
		for step := range 3 {
			want, got := steps(t, plain, 1)[0], steps(t, hooked, 1)[0]
			if !cmp.Equal(got, want) || !(math.Abs(shown-got.Norm) <= 1e-6*got.Norm) {
				t.Errorf("%s, step %d: got %+v of gradients of norm %v, want %+v", name, step, got, shown, want)
			}
		}
		if fingerprint(t, plain) != fingerprint(t, hooked) || seen != 3 {
			t.Errorf("%s: other bits, or %d calls", name, seen)
		}
		if more := hooked.Config().Memory() - plain.Config().Memory(); (more > 0) != (c.GradientAccumulationSteps ==
			1) {
			t.Errorf("%s: %v bytes more", name, more)
		}
	}
}

// Hooks change the rate, the gradients, and the loss that is trained and evaluated.
func TestHooksThatChange(t *testing.T) {
	c := tiny()
	c.WeightDecay = 0
	c.Hooks.Rate = func(step int) float64 { return 0.5 / float64(step+1) }
	c.Hooks.Gradients = func(_ int, grads []train.Named) error {
		for _, g := range grads {
			if g.Name == "wpe.weight" {
				clear(g.F32)
			}
		}
		return nil
	}
	c.Hooks.Loss = func(logits, targets graph.Expr) graph.Expr {
		entropy, _ := fused.CrossEntropy(logits, targets, true, 0, 0)
		return entropy.Scale(3)
	}
	trainer, plain := newTrainer(t, c), newTrainer(t, tiny())
	wpe, _ := trainer.Model.Graph.Leaf("wpe.weight")
	before := wpe.Tensor().Floats()
	evaluated, err := trainer.Evaluate(t.Context())
	usual, err2 := plain.Evaluate(t.Context())
	if err = errors.Wrap(err, "hooked"); err != nil || err2 != nil || !(math.Abs(evaluated.Val-3*usual.Val) <= 1e-5) {
		t.Errorf("evaluated %v, want three times %v (%v, %v)", evaluated.Val, usual.Val, err, err2)
	}
	list, want := steps(t, trainer, 2), steps(t, plain, 1)
	if list[1].LR != 0.25 || !(math.Abs(list[0].Loss-3*want[0].Loss) <= 1e-5) {
		t.Errorf("got %+v, want a rate of 0.25, and at first three times the loss %v", list, want[0].Loss)
	}
	for i, x := range wpe.Tensor().Floats() {
		if x != before[i] {
			t.Fatalf("entry %d of wpe.weight was %v and is %v, without a gradient", i, before[i], x)
		}
	}
}

// Label smoothing, z-loss and further tokens change the loss that a step minimises, and not the loss of an evaluation.
// A user's own loss replaces both, so they are refused beside it.
func TestObjective(t *testing.T) {
	plain := newTrainer(t, tiny())
	usual := must(plain.Evaluate(t.Context()))
	first := steps(t, plain, 1)[0].Loss
	for name, change := range map[string]func(*Config){
		"label_smoothing": func(c *Config) { c.LabelSmoothing = 0.9 },
		"z_loss":          func(c *Config) { c.ZLoss = 2 },
		"n_future_tokens": func(c *Config) { c.FutureTokens = 3 },
	} {
		c := tiny()
		change(&c)
		trainer := newTrainer(t, c)
		if got := must(trainer.Evaluate(t.Context())); got != usual {
			t.Errorf("%s: evaluated %+v, want %+v", name, got, usual)
		}
		steps(t, trainer, 1)
		if a, b := plain.Model.Params()[0].Tensor(), trainer.Model.Params()[0].Tensor(); slices.Equal(a.F32, b.F32) {
			t.Errorf("%s: trains the same", name)
		}
		lse := math.Log(float64(trainer.Config().VocabSize)) // nearly, before training
		again := newTrainer(t, c)
		if got := steps(t, again, 1)[0].Loss; c.ZLoss > 0 && !(math.Abs(got-first-2*lse*lse) <= 0.3) {
			t.Errorf("%s: the first loss is %v, want about %v", name, got, first+2*lse*lse)
		}
		c = trainer.Config()
		c.Hooks.Loss = func(logits, _ graph.Expr) graph.Expr { return logits.SumAll() }
		if c.FutureTokens > 1 {
			mustContain(t, c.Validate(), "n_future_tokens: got 3, want 1 with a Loss of Hooks")
			continue
		}
		mustContain(t, c.Validate(), "label_smoothing and z_loss: got", "want 0 with a Loss of Hooks")
	}
}

// The blocks for further tokens come after the network's, are trained or frozen by their names, and take no memory of a
// decoder. They are refused where a sequence has no target for them, and where a file cannot hold them.
func TestFutureTokens(t *testing.T) {
	plain, c := tiny(), tiny()
	plain.VocabSize, c.VocabSize, c.FutureTokens, c.Frozen = 65, 65, 3, []string{"h.3.*"}
	m, err := New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	var further []string
	for _, p := range m.Params() {
		if strings.HasSuffix(p.Name(), ".c_attn.weight") {
			further = append(further, p.Name())
		}
	}
	if want := []string{
		"h.0.attn.c_attn.weight", "h.1.attn.c_attn.weight", "h.2.attn.c_attn.weight", "h.3.attn.c_attn.weight",
	}; !slices.Equal(further, want) {
		t.Errorf("got %v, want %v", further, want)
	}
	other, err := New(graph.New(graph.Float32, 1), plain, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := must(m.StateBytes()), must(other.StateBytes()); got != want {
		t.Errorf("a decoder stores %d bytes, want %d", got, want)
	}
	trainer := newTrainer(t, c)
	before := map[string]float64{}
	for _, p := range trainer.Model.Params() {
		before[p.Name()] = p.Tensor().At(3)
	}
	steps(t, trainer, 1)
	for _, p := range trainer.Model.Params() {
		if moved, frozen := p.Tensor().At(3) != before[p.Name()], strings.HasPrefix(p.Name(), "h.3."); moved == frozen {
			t.Errorf("%s: moved %t, frozen %t", p.Name(), moved, frozen)
		}
	}
	c.FutureTokens = c.BlockSize
	mustContain(t, c.Validate(), "n_future_tokens: got 8, want less than block_size 8")
}

// A hook that fails fails the step, which is then repeated as if nothing had happened. Invalid hooks are errors.
func TestHooksThatFail(t *testing.T) {
	c := eventful()
	calm := newTrainer(t, c)
	fail, message := false, errors.New("the gradient is blue")
	c.Hooks.Gradients = func(_ int, grads []train.Named) error {
		if !fail {
			return nil
		}
		clear(grads[0].F32)
		return message
	}
	c.Hooks.Rate = func(step int) float64 {
		if fail && step == 2 {
			panic("glass")
		}
		return c.RateAt(step)
	}
	trainer := newTrainer(t, c)
	for step, want := range []string{
		"step 1: adamw: gradients: the gradient is blue", "step 2: adamw: gradients: ", "step 3: rate: panic: glass",
	} {
		fail = true
		_, err := trainer.Step()
		mustContain(t, err, want)
		if fail = false; step < 2 && !errors.Is(err, message) {
			t.Errorf("got %v", err)
		}
		steps(t, trainer, 1)
	}
	if steps(t, calm, 3); fingerprint(t, trainer) != fingerprint(t, calm) {
		t.Error("a step that failed left something behind")
	}
	c.Hooks.Gradients = func(int, []train.Named) error { panic("glass") }
	_, err := newTrainer(t, c).Step()
	mustContain(t, err, "step 1: adamw: gradients: panic: glass")
	for want, loss := range map[string]func(logits, targets graph.Expr) graph.Expr{
		`loss: panic: glass`:                           func(graph.Expr, graph.Expr) graph.Expr { panic("glass") },
		`loss: the hook's loss has shape [], want`:     func(graph.Expr, graph.Expr) graph.Expr { return graph.Expr{} },
		`loss: the hook's loss has shape [24 1], want`: func(logits, _ graph.Expr) graph.Expr { return logits.Sum() },
		`loss: the hook's loss does not read its targets, so nothing would be learnt from the text`: func(logits, _ graph.Expr) graph.Expr { return logits.SumAll() },
	} {
		c.Hooks = train.Hooks{Loss: loss}
		data, tok := corpus(t, verses, c.BlockSize)
		_, err := NewTrainer(c, data, tok)
		mustContain(t, err, want)
	}
}

// A Trainer with a replaced field is an error that names the field, in every method that reads it. No method panics or
// continues with another network.
func TestTrainerReplaced(t *testing.T) {
	other, letters := newTrainer(t, tiny()), must(text.NewCharacters("a to z"))
	for name, tc := range map[string]struct {
		change func(*Trainer)
		says   string
		saving bool // only Save reads it
	}{
		"no core":  {func(tr *Trainer) { tr.Core = nil }, "Core has been replaced", false},
		"core":     {func(tr *Trainer) { tr.Core = other.Core }, "Core has been replaced", false},
		"no model": {func(tr *Trainer) { tr.Model = nil }, "Model has been replaced", false},
		"model":    {func(tr *Trainer) { tr.Model = other.Model }, "Model has been replaced", false},
		"graph":    {func(tr *Trainer) { tr.Model.Graph = other.Model.Graph }, "Graph has been replaced", false},
		"tokens":   {func(tr *Trainer) { tr.Model.Tokens = graph.Expr{} }, "Tokens has been replaced", false},
		"targets": {
			func(tr *Trainer) { tr.Model.Targets = other.Model.Targets }, "Targets has been replaced", false,
		},
		"no corpus":    {func(tr *Trainer) { tr.Corpus = nil }, "Corpus: got nil", false},
		"no tokenizer": {func(tr *Trainer) { tr.Tokenizer = nil }, "Tokenizer: got nil", true},
		"tokenizer": {
			func(tr *Trainer) { tr.Tokenizer = letters }, "Tokenizer has been replaced: another vocabulary", true,
		},
	} {
		tr := newTrainer(t, tiny())
		tc.change(tr)
		_, files := tr.Files()
		for method, err := range map[string]error{"Files": files, "Save": tr.Save(t.TempDir())} {
			if err == nil {
				t.Errorf("%s: %s: no error", name, method)
			}
			mustContain(t, err, "trainer: ", tc.says)
		}
		if tc.saving {
			continue
		}
		_, step := tr.Step()
		_, evaluate := tr.Evaluate(context.Background())
		_, all := tr.EvaluateAll(context.Background(), nil)
		var run error
		for _, run = range tr.Run(context.Background()) {
			break
		}
		for method, err := range map[string]error{"Step": step, "Evaluate": evaluate, "EvaluateAll": all, "Run": run} {
			if err == nil {
				t.Errorf("%s: %s: no error", name, method)
			}
			if name != "no core" || method != "Run" {
				mustContain(t, err, "trainer: ", tc.says)
			}
		}
	}
}

// A nil corpus, tokenizer or checkpoint is an error that names it.
func TestTrainersRefuseNil(t *testing.T) {
	data, tok := corpus(t, verses, tiny().BlockSize)
	cp := saved(t, 0, files(t, newTrainer(t, tiny())))
	for name, make := range map[string]func(text.Corpus, text.Tokenizer) (*Trainer, error){
		"NewTrainer": func(data text.Corpus, tok text.Tokenizer) (*Trainer, error) {
			return NewTrainer(tiny(), data, tok)
		},
		"Resume": func(data text.Corpus, tok text.Tokenizer) (*Trainer, error) { return Resume(tiny(), data, tok, cp) },
		"FineTune": func(data text.Corpus, tok text.Tokenizer) (*Trainer, error) {
			return fineTune(tiny(), data, tok, cp)
		},
	} {
		_, err := make(nil, tok)
		mustContain(t, err, "Corpus: got nil")
		_, err = make(data, nil)
		mustContain(t, err, "Tokenizer: got nil")
		if _, err = make(data, tok); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Resume(tiny(), data, tok, nil)
	mustContain(t, err, "checkpoint")
	_, err = FineTune(tiny(), data, tok, Source{})
	mustContain(t, err, "checkpoint: got nil")
}

// A tokenizer with more tokens than the model has logits is not written with the model.
func TestFilesRefuseALargerTokenizer(t *testing.T) {
	m := scrambledIn(t, graph.Float32, tiny()) // 11 tokens
	_, err := m.Files(must(text.NewCharacters(verses)))
	mustContain(t, err, "tokenizer: got ", "tokens, want at most the model's vocab_size 11")
	if _, err := m.Files(must(text.NewCharacters("to a mill"))); err != nil {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// bits returns everything that a step may change.
func bits(trainer *Trainer) []byte {
	var b bytes.Buffer
	add := func(t graph.Tensor) {
		for _, x := range t.F32 {
			fmt.Fprintf(&b, "%08x", math.Float32bits(x))
		}
	}
	for _, p := range trainer.Model.Params() {
		add(p.Tensor())
	}
	for _, p := range trainer.Moments() {
		add(p.Tensor)
	}
	fmt.Fprint(&b, trainer.Done)
	return b.Bytes()
}

// refusesToStep checks that the next step returns an error with the step and the tensor, and changes nothing.
func refusesToStep(t *testing.T, trainer *Trainer, what string) train.Progress {
	t.Helper()
	before := bits(trainer)
	p, err := trainer.Step()
	if !errors.Is(err, graph.ErrNotFinite) {
		t.Fatalf("%s: got %v, want ErrNotFinite", what, err)
	}
	mustContain(t, err, fmt.Sprintf("step %d:", trainer.Done+1), what)
	if !bytes.Equal(before, bits(trainer)) {
		t.Errorf("%s: the step changed weights, moments or its number", what)
	}
	return p
}

// A weight that is not finite, at any step and any place, stops the run in that step, and is not saved.
func TestNaNStops(t *testing.T) {
	kinds := []func(*Config){
		func(*Config) {},
		func(c *Config) { *c = eventful() },
		func(c *Config) { c.LoraR, c.Block = 2, "post" },
		func(c *Config) { c.Activation, c.Kernels = "relu", false },
		func(c *Config) { c.Head, c.Activation, c.Precision = "linear", "gelu_tanh", "bf16" },
	}
	trials := 20
	switch {
	case os.Getenv("NIGHTLY") != "":
		trials = 100
	case testing.Short():
		trials = 15
	}
	for seed := range trials {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		c := tiny()
		kinds[seed%len(kinds)](&c)
		c.Seed = uint64(seed)
		trainer := newTrainer(t, c)
		steps(t, trainer, rng.IntN(4))

		x := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
		params := trainer.Model.Params()
		p := params[rng.IntN(len(params))]
		// -Inf there is not wrong: it is a token or a unit that never comes
		if p.Name() == "lm_head.bias" || c.Activation == "relu" {
			x = math.NaN()
		}
		w := p.Tensor()
		at := rng.IntN(w.Len())
		w.Set(at, x)
		if p.Name() == "wte.weight" { // whichever tokens come
			for i := at % w.Shape[1]; i < w.Len(); i += w.Shape[1] {
				w.Set(i, x)
			}
		}
		refusesToStep(t, trainer, p.Name())
		if _, err := trainer.Evaluate(t.Context()); !errors.Is(err, graph.ErrNotFinite) {
			t.Errorf("%s: evaluated: %v", p.Name(), err)
		}
		mustContain(t, trainer.Model.WriteWeights(new(bytes.Buffer)), "not finite", p.Name())
	}
}

// A gradient that overflows while the loss is finite also stops the run.
func TestInfiniteGradientStops(t *testing.T) {
	// logits of 1e36, divided by a small σ
	factors := map[string]float64{"wte.weight": 1e-3, "wpe.weight": 1e-3, headWeight: 1e39}
	for _, steady := range []int{0, 3} {
		c := tiny()
		c.Head = "linear"
		trainer := newTrainer(t, c)
		steps(t, trainer, steady)
		for _, p := range trainer.Model.Params() {
			for i := range p.Tensor().Len() {
				if f, ok := factors[p.Name()]; ok {
					p.Tensor().Set(i, f*p.Tensor().At(i))
				}
			}
		}
		p := refusesToStep(t, trainer, "the backward pass met the first one at ")
		if math.IsInf(p.Loss, 0) || math.IsNaN(p.Loss) || p.Loss == 0 {
			t.Errorf("loss %v: this was to be about gradients", p.Loss)
		}
	}
}

// A loss that overflows with finite weights is named as such.
func TestInfiniteLossStops(t *testing.T) {
	c := tiny()
	c.Head = "linear"
	trainer := newTrainer(t, c)
	for _, p := range trainer.Model.Params() {
		if p.Name() == headWeight {
			for i := range p.Tensor().Len() {
				p.Tensor().Set(i, math.Copysign(3e38, p.Tensor().At(i)))
			}
		}
	}
	refusesToStep(t, trainer, "all weights are finite; first: lm_head: ")
}

// Every reader of files refuses one that claims an excessive size before it allocates memory for it.
func TestClaimedSizes(t *testing.T) {
	const tera = 1 << 40
	for want, open := range map[string]func(dir string) error{
		"shards.json: got 1099511627776 bytes, want at most 67108864": func(dir string) error {
			path := filepath.Join(dir, text.ShardsFile)
			if err := os.WriteFile(path, []byte("{}"), 0o644); err != nil {
				return err
			}
			if err := os.Truncate(path, tera); err != nil {
				return err
			}
			_, err := text.OpenShards(dir)
			return err
		},
		"NUL byte at offset 6": func(dir string) error {
			path := filepath.Join(dir, "text.txt")
			if err := os.WriteFile(path, []byte("verses"), 0o644); err != nil {
				return err
			}
			if err := os.Truncate(path, text.MaxBytes); err != nil {
				return err
			}
			_, err := text.ReadCorpus(dir)
			return err
		},
	} {
		dir := t.TempDir()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := open(dir)
		runtime.ReadMemStats(&after)
		mustContain(t, err, want)
		if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 { // pools may have dropped what they held
			t.Errorf("%s: %d bytes allocated", want, got)
		}
	}
}

// watched is a part of a corpus that calls a function before each read.
type watched struct {
	text.Split
	before func()
}

func (w watched) Read(ids []int, at int) error {
	w.before()
	return w.Split.Read(ids, at)
}

// A step that fails in its second of three micro-batches leaves nothing behind, and the next one is the same as in a
// run without it: the same batches, dropout, gradients, weights and moments.
func TestFailedStepLeavesNothing(t *testing.T) {
	for _, change := range []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Optimizer, c.Beta1 = "sgd", 0.9 },
		func(c *Config) { c.LoraR = 2 },
	} {
		c := eventful()
		c.GradientAccumulationSteps = 3
		change(&c)
		data, tok := corpus(t, verses, c.BlockSize)
		reads, hurt := 0, func() {}
		part := watched{data.Train(), func() {
			if reads++; reads == c.BatchSize+1 {
				hurt()
			}
		}}
		trainer, err := NewTrainer(c, text.Dataset{Training: part, Validation: data.Val(), Sum: data.SHA256()}, tok)
		if err != nil {
			t.Fatal(err)
		}
		calm := newTrainer(t, c)
		w := trainer.Model.Params()[0].Tensor()
		for range 3 {
			kept, drawn := w.Clone(), *trainer.batches
			reads, hurt = 0, func() {
				for i := range w.F32 {
					w.F32[i] = float32(math.NaN())
				}
			}
			if _, err := trainer.Step(); !errors.Is(err, graph.ErrNotFinite) || reads != 2*c.BatchSize {
				t.Fatalf("got error %v after %d reads, want one in the second micro-batch", err, reads)
			}
			copy(w.F32, kept.F32)
			hurt = func() {}
			if *trainer.batches != drawn {
				t.Error("a checkpoint would have the batches behind the failed step")
			}
			if diff := cmp.Diff(steps(t, calm, 1), steps(t, trainer, 1)); diff != "" {
				t.Errorf("the step after (-undisturbed +disturbed):\n%s", diff)
			}
			if !bytes.Equal(bits(trainer), bits(calm)) {
				t.Error("weights or moments differ from those of an undisturbed run")
			}
		}
	}
}

// An update that overflows stops the run in its step, with the parameter's name, and is not saved.
func TestOverflowingUpdateStops(t *testing.T) {
	for _, optimizer := range []string{"adamw", "sgd"} {
		c := tiny()
		c.Optimizer, c.LearningRate = optimizer, 1e42
		trainer := newTrainer(t, c)
		_, err := trainer.Step()
		if !errors.Is(err, graph.ErrNotFinite) || trainer.Done != 0 {
			t.Fatalf("%s: got error %v after %d steps", optimizer, err, trainer.Done)
		}
		mustContain(t, err, "step 1: after the update: wte.weight: entry ")
		mustContain(t, trainer.Model.WriteWeights(new(bytes.Buffer)), "wte.weight: entry ")
	}
}
