package gpt

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
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

// The tokens that end a text are in generation_config.json, otherwise in config.json, as a number or a list. A run's
// own checkpoint has none.
func TestLoadEnds(t *testing.T) {
	_, _, all := publishedGPT2(t) // of 271 tokens, whose config.json says 50256
	for generation, want := range map[string][]int{
		"":                          {5},
		`{}`:                        {5},
		`{"eos_token_id": null}`:    {5},
		`{"eos_token_id": 7}`:       {7},
		`{"eos_token_id": [9, 0]}`:  {9, 0},
		`{"eos_token_id": [270]}`:   {270},
		`{"eos_token_id": [8,271]}`: {8},
		`{"eos_token_id": -1}`:      {},
	} {
		all[configFile] = []byte(`{"n_positions": 8, "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 271, "eos_token_id": 5}`)
		if all[generationFile] = []byte(generation); generation == "" {
			delete(all, generationFile)
		}
		if got, err := LoadEnds(opened(t, folder(t, all))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, error %v, want %v", generation, got, err, want)
		}
	}
	for generation, want := range map[string]string{`{"eos_token_id": "</s>"}`: `generation_config.json: eos_token_id: got "</s>", want a whole number, or a list of them`, `{"eos_token_id": [1.5]}`: "eos_token_id: got [1.5], want a whole number, or a list", `[`: "generation_config.json: "} {
		all[generationFile] = []byte(generation)
		_, err := LoadEnds(opened(t, folder(t, all)))
		mustContain(t, err, want)
	}
	if got, err := LoadEnds(saved(t, 0, files(t, newTrainer(t, tiny())))); err != nil || got != nil {
		t.Errorf("a run: got %v, error %v, want none", got, err)
	}
}

func opened(t *testing.T, dir string) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

// TestLoadingNeedsNoMemory: a resumed run and a loaded model allocate the same as new ones, and in addition less than a
// tenth of the numbers that they read.
func TestLoadingNeedsNoMemory(t *testing.T) {
	c := tiny()
	c.NEmbd, c.QKSize, c.VSize, c.Head = 320, 0, 0, "linear"
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
	allocated := func(do func() error) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := do(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	open := func(use func(*checkpoint.Checkpoint) error) func() error {
		return func() error {
			cp, err := checkpoint.Load(path, Fits())
			if err != nil {
				return err
			}
			defer cp.Close()
			return use(cp)
		}
	}
	total, _ := trainer.Config().Count()
	weights := 4 * float64(total)
	fresh := allocated(func() error { _, err := NewTrainer(c, trainer.Corpus, trainer.Tokenizer); return err })
	resumed := allocated(open(func(cp *checkpoint.Checkpoint) error {
		_, err := Resume(c, trainer.Corpus, trainer.Tokenizer, cp)
		return err
	}))
	built := allocated(func() error { _, err := New(graph.New(graph.Float32, 1), trainer.Config(), 1); return err })
	loaded := allocated(open(func(cp *checkpoint.Checkpoint) error { _, err := LoadModel(emptyGraph(), cp); return err }))
	t.Logf("weights %.2g MB; a new run allocates %.3g, resumed %.3g; a new model %.4g, loaded %.4g", weights/1e6, fresh/1e6,
		resumed/1e6, built/1e6, loaded/1e6)
	if more := resumed - fresh; !(more < weights/10*3) { // weights and two moments
		t.Errorf("a resumed run allocates %.0f bytes more than a new one, its weights are %.0f", more, weights)
	}
	if more := loaded - built; !(more < weights/10) {
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

// A tied model's file may contain the head in addition to the embedding, with the same numbers to the bit.
func TestTiedHead(t *testing.T) {
	m, _, files := publishedGPT2(t)
	for name, test := range map[string]struct {
		change func(head safetensors.Tensor) safetensors.Tensor
		want   string
	}{
		"the same":    {func(head safetensors.Tensor) safetensors.Tensor { return head }, ""},
		"another bit": {func(head safetensors.Tensor) safetensors.Tensor { head.F32[4001] += 1e-6; return head }, "lm_head.weight: entry 4001 is"},
		"other rows": {func(head safetensors.Tensor) safetensors.Tensor {
			head.Shape, head.F32 = []int{270, 16}, head.F32[:270*16]
			return head
		}, "lm_head.weight has shape [270 16], the tokens of a tied model [271 16]"},
	} {
		list := decoded(t, m)
		i := slices.IndexFunc(list, func(x safetensors.Tensor) bool { return x.Name == "wte.weight" || x.Name == "transformer.wte.weight" })
		head := test.change(safetensors.Tensor{Name: "lm_head.weight", Shape: slices.Clone(list[i].Shape), F32: slices.Clone(list[i].F32)})
		files[train.WeightsFile] = encoded(t, append(list, head))
		_, _, err := Open(folder(t, files))
		if test.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		mustContain(t, err, test.want)
	}
}
