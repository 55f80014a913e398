package seq2seq

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// saved returns a checkpoint of the trainer with one of its files changed.
func saved(t *testing.T, tr *Trainer, v *Vocabulary, name string, change func([]byte) []byte) *checkpoint.Checkpoint {
	t.Helper()
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var files []checkpoint.File
	for _, f := range filesOf(t, tr, v, v) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		if f.Name == name {
			data = change(data)
		}
		files = append(files, checkpoint.File{Name: f.Name, Write: train.WriteBytes(data)})
	}
	if err := dir.Save(tr.Done, files); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

func abc(t testing.TB) *Vocabulary {
	t.Helper()
	v, err := NewVocabulary("characters")
	if err != nil {
		t.Fatal(err)
	}
	v.Add("abc")
	return v
}

// first returns a safetensors file whose first tensor begins with x.
func first(t *testing.T, x float32) func([]byte) []byte {
	return func(data []byte) []byte {
		list, _, err := safetensors.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		list[0].F32[0] = x
		var b bytes.Buffer
		if err := safetensors.Write(&b, list, nil); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
}

// A checkpoint that matches its manifest but has wrong content is refused, with the reason.
func TestResumeRefuses(t *testing.T) {
	swap := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(new), 1) }
	}
	tr, v := newTrainer(t, small()), abc(t)
	steps(t, tr, 2)
	for _, tc := range []struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		{train.WeightsFile, first(t, float32(math.NaN())), "not finite"},
		{train.OptimizerFile, first(t, float32(math.Inf(1))), "not finite"},
		{train.WeightsFile, swap("encoder.wte", "encoder.wta"), "encoder.wte.weight is missing"},
		{train.StateFile, swap(`"step": 2`, `"step": 3`), "says step 3"},
		{train.StateFile, swap(`"step": 2`, `"step": -2`), "says step -2, its directory step 2"},
		{train.StateFile, swap(`"step": 2`, `"step": 2000000000`), "says step 2000000000, its directory step 2"},
		{train.StateFile, swap(`"format": 2`, `"format": 3`), "format 3, this program reads 2"},
		{train.StateFile, swap(`"n_head": 2`, `"n_heads": 2`), "n_heads: unknown field; did you mean n_head?"},
		{train.StateFile, swap(`"source": {`, `"sauce": {`), "sauce"},
		{train.StateFile, swap(`"n_head": 2`, `"n_head": 4`), "n_head: got 2, want 4 as saved"},
		{train.StateFile, func(b []byte) []byte { return append(b, "{}"...) }, "after top-level value"},
	} {
		cp := saved(t, tr, v, tc.file, tc.change)
		if _, err := Resume(small(), backwards{}, v, v, cp); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %s", tc.file, err, tc.want)
		}
	}
	for _, tc := range []struct {
		file   string
		change func([]byte) []byte
		want   string
	}{
		{train.StateFile, swap(`"step": 2`, `"step": -2`), "says step -2"},
		{train.StateFile, swap(`"n_embd": 16`, `"n_embd": 20`), "numbers, want"},
		{train.StateFile, swap(`"n_embd": 16`, `"n_embd": 268435456`), "memory"},
		{train.OptimizerFile, swap("m.encoder.wte", "m.encoder.wta"), "m.encoder.wta.weight: got"},
		{train.WeightsFile, func(b []byte) []byte { return b[:len(b)-4] }, "safetensors"},
	} {
		if err := Fits()(saved(t, tr, v, tc.file, tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s does not fit: got error %v, want %s", tc.file, err, tc.want)
		}
	}
	cp := saved(t, tr, v, "", nil)
	if err := Fits()(cp); err != nil {
		t.Error(err)
	}
	cp = saved(t, tr, v, train.WeightsFile, first(t, float32(math.NaN())))
	if _, _, err := LoadModel(cp); !errors.Is(err, graph.ErrNotFinite) {
		t.Errorf("a model of NaN: got error %v", err)
	}
}

// With momentum, micro-batches, dropout and a window a run resumes bit-identically, and recomputing activations
// changes nothing.
func TestResumeOfEverything(t *testing.T) {
	c := small()
	c.Optimizer, c.Beta1, c.GradientAccumulationSteps, c.Dropout, c.Attention = "sgd", .5, 3, .1, "window"
	c.Options.Set("window", 2)
	full, halted, v := newTrainer(t, c), newTrainer(t, c), abc(t)
	want := steps(t, full, 5)
	steps(t, halted, 2)
	if _, err := halted.Evaluate(t.Context(), list{{[]int{4}, []int{5}}}); err != nil {
		t.Fatal(err)
	}
	cp := saved(t, halted, v, "", nil)
	c.Recompute, c.Threads = true, 2
	resumed, err := Resume(c, backwards{}, v, v, cp)
	if err != nil {
		t.Fatal(err)
	}
	if resumed.Best != halted.Best {
		t.Errorf("best loss %v, want %v", resumed.Best, halted.Best)
	}
	if diff := cmp.Diff(want[2:], steps(t, resumed, 3)); diff != "" {
		t.Error(diff)
	}
	for i, p := range full.Model.Params() {
		if diff := cmp.Diff(p.Tensor(), resumed.Model.Params()[i].Tensor()); diff != "" {
			t.Fatalf("%s: %s", p.Name(), diff)
		}
	}
}

// Micro-batches of half the size are drawn like one batch, so the mean of their losses is its loss if all targets have
// the same length.
func TestAccumulation(t *testing.T) {
	pairs := list{{[]int{4}, []int{5, 6}}, {[]int{5}, []int{7, 8}}, {[]int{6}, []int{9, 5}}}
	norm := func(batch, micro int) train.Progress {
		c := small()
		c.BatchSize, c.GradientAccumulationSteps = batch, micro
		tr, err := NewTrainer(c, pairs)
		if err != nil {
			t.Fatal(err)
		}
		p, err := tr.Step()
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, two := norm(8, 1), norm(4, 2)
	if !(math.Abs(one.Loss-two.Loss) < 1e-5) || !(math.Abs(one.Norm-two.Norm) < 1e-4*one.Norm) ||
		one.Tokens != two.Tokens {
		t.Errorf("one batch of 8: %+v, two of 4: %+v", one, two)
	}
}

// The loss over pairs is the mean over their tokens, independent of the batch size.
func TestEvaluate(t *testing.T) {
	var pairs list
	for i := range 17 {
		p, _ := backwards{}.Pair(5000 + i)
		pairs = append(pairs, p)
	}
	var want float64
	for _, batch := range []int{17, 5, 1, 20} {
		c := small()
		c.BatchSize, c.Dropout = batch, 0.3
		tr := newTrainer(t, c)
		got, err := tr.Evaluate(t.Context(), pairs)
		if err != nil {
			t.Fatal(err)
		}
		if want == 0 {
			want = got
		}
		if !(math.Abs(got-want) < 1e-6) || tr.Best != got {
			t.Errorf("in batches of %d: %v, best %v, want %v", batch, got, tr.Best, want)
		}
	}
	if _, err := newTrainer(t, small()).Evaluate(t.Context(), list{}); err == nil ||
		!strings.Contains(err.Error(), "no pairs") {
		t.Errorf("got error %v", err)
	}
}

// A user-defined norm, optimizer, and attention with an option train, resume and are loaded by a program that has
// them.
func TestOwnParts(t *testing.T) {
	c := small()
	attention := parts.Find(parts.Attentions(), "causal") // with the encoder's mask
	attention.Name, attention.Options = "mine", []parts.Option{{Name: "mine_width", Help: "a number"}}
	c.Parts = parts.Registry{
		Norms:      []parts.Norm{{Name: "scaled", New: func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }}},
		Attentions: []parts.Attention{attention},
		Optimizers: []parts.Optimizer{{Name: "slow", New: func(train.Training) optim.Rule { return optim.SGD{} }}},
	}
	c.Norm, c.Optimizer, c.Attention = "scaled", "slow", "mine"
	c.Options.Set("mine_width", 7)
	tr, v := newTrainer(t, c), abc(t)
	steps(t, tr, 2)
	cp := saved(t, tr, v, "", nil)
	if _, err := Resume(c, backwards{}, v, v, cp); err != nil {
		t.Error(err)
	}
	none := parts.Registry{} // all registries count
	if err := Fits(c.Parts, none)(cp); err != nil {
		t.Error(err)
	}
	if m, _, err := LoadModel(cp, c.Parts, none); err != nil || m.Config.Options.Get("mine_width") != 7 {
		t.Errorf("loaded with %+v, %v", m, err)
	}
	if _, _, err := LoadModel(cp); err == nil || !strings.Contains(err.Error(), "mine_width: unknown field") {
		t.Errorf("without the parts: got error %v", err)
	}
}
