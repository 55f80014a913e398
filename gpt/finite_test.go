package gpt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

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
	trials := 40
	switch {
	case os.Getenv("NIGHTLY") != "":
		trials = 100
	case testing.Short():
		trials = 25
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
		if p.Name() == "lm_head.bias" || c.Activation == "relu" { // -Inf there is not wrong: it is a token or a unit that never comes
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
	factors := map[string]float64{"wte.weight": 1e-3, "wpe.weight": 1e-3, published.HeadWeight: 1e39} // logits of 1e36, divided by a small σ
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
		p := refusesToStep(t, trainer, "the gradient of")
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
		if p.Name() == published.HeadWeight {
			for i := range p.Tensor().Len() {
				p.Tensor().Set(i, math.Copysign(3e38, p.Tensor().At(i)))
			}
		}
	}
	refusesToStep(t, trainer, "all weights are finite")
}

// claiming writes a safetensors file of these tensors, whose numbers are a hole of the claimed size.
func claiming(t *testing.T, path string, shapes map[string][]int) {
	t.Helper()
	var header []string
	end := 0
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		begin, shape := end, shapes[name]
		end += 4 * shape[0] * shape[1]
		header = append(header, fmt.Sprintf(`%q: {"dtype": "F32", "shape": [%d, %d], "data_offsets": [%d, %d]}`, name, shape[0], shape[1], begin, end))
	}
	all := "{" + strings.Join(header, ",") + "}"
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(all))), all...)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(data)+end)); err != nil {
		t.Skip("this file system has no files with holes:", err)
	}
}

// Every reader of files refuses one that claims an excessive size before it allocates memory for it.
func TestClaimedSizes(t *testing.T) {
	const tera = 1 << 40
	m := scrambled(t, tiny())
	tuned := scrambled(t, lora(2, 3, "c_attn"))
	adapter := func(shapes map[string][]int, rank int) func(dir string) error {
		return func(dir string) error {
			dir = filepath.Join(dir, "adapter")
			if err := tuned.SaveAdapter(dir, "base"); err != nil {
				return err
			}
			config, err := os.ReadFile(filepath.Join(dir, "adapter_config.json"))
			if err != nil {
				return err
			}
			config = []byte(strings.Replace(string(config), `"r": 6`, fmt.Sprintf(`"r": %d`, rank), 1))
			if err := os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o644); err != nil {
				return err
			}
			claiming(t, filepath.Join(dir, "adapter_model.safetensors"), shapes)
			a, err := OpenAdapter(dir)
			if err != nil {
				return err
			}
			_, err = m.Adapted(1, a)
			return err
		}
	}
	long := func(name string) func(dir string) error { // a file of a folder that is too long
		return func(string) error {
			_, _, files := publishedGPT2(t)
			dir := folder(t, files)
			if err := os.Truncate(filepath.Join(dir, name), tera); err != nil {
				t.Skip("this file system has no files with holes:", err)
			}
			_, _, err := Open(dir)
			return err
		}
	}
	const q = "base_model.model.transformer.h.0.attn.c_attn.lora_"
	c := m.Config.Resolved()
	width, in := 2*c.NHead*c.QKSize+c.NHead*c.VSize, c.NEmbd
	for want, open := range map[string]func(dir string) error{
		"got one for a matrix (1000000000,": adapter(map[string][]int{q + "A.weight": {6, 1_000_000_000}, q + "B.weight": {1_000_000_000, 6}}, 6),
		"r: got 100000000, want at most 4096": adapter(map[string][]int{
			q + "A.weight": {100_000_000, in}, q + "B.weight": {width, 100_000_000}}, 100_000_000),
		"config.json: got 1099511627776 bytes, want at most":    long(configFile),
		"tokenizer.json: got 1099511627776 bytes, want at most": long(tokenizerFile),
		"the tensors have": long(train.WeightsFile),
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
		limit := uint64(16 << 20)
		if testing.Short() {
			limit *= 2 // with the race detector, pools drop what they hold
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > limit {
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
