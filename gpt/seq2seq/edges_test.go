package seq2seq

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// An empty optimizer equals the default, given by name.
func TestResumeDiffOfTheOptimizer(t *testing.T) {
	c, saved := small(), small()
	saved.Optimizer = string(parts.Optimizers()[0].Name)
	if err := c.ResumeDiff(saved); err != nil {
		t.Error(err)
	}
	if got := c.Resolved().Optimizer; got != saved.Optimizer {
		t.Errorf("the default optimizer is %q, want %q", got, saved.Optimizer)
	}
}

// A step counts every token: those of the sources, of the targets, and the ends of the targets.
func TestTokensOfAStep(t *testing.T) {
	tr := newTrainer(t, small())
	p, err := tr.Step()
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, pair := range tr.batch {
		want += len(pair.Source) + len(pair.Target) + 1
	}
	if p.Tokens != want || want < 3*small().BatchSize {
		t.Errorf("got %d tokens, want %d", p.Tokens, want)
	}
	if math.Abs(p.Loss-math.Log(10)) > 0.5 {
		t.Errorf("the first loss is %v, want about ln 10", p.Loss)
	}
}

// A vocabulary must have at least one token, and weights that are not safetensors are a clear error.
func TestRefusals(t *testing.T) {
	c := small()
	c.SourceVocab = 0
	if _, err := NewTrainer(c, backwards{}); err == nil || !strings.Contains(err.Error(), "source_vocab: got 0") {
		t.Errorf("got error %v", err)
	}
	tr := newTrainer(t, small())
	cp := saved(t, tr, abc(t), train.WeightsFile, func([]byte) []byte { return []byte("not the weights") })
	if _, _, err := LoadModel(cp); err == nil || !strings.Contains(err.Error(), "safetensors") {
		t.Errorf("got error %v", err)
	}
}

// Pre-norm blocks need a norm after the last block, on either side; post-norm blocks have their own.
func TestFinalNorm(t *testing.T) {
	for block, want := range map[string]int{"pre": 2, "post": 0} {
		c := small()
		c.Block = block
		m, err := New(graph.New(graph.Float32, 1), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range m.Params() {
			if strings.HasSuffix(p.Name(), "ln_f.weight") {
				n++
			}
		}
		if n != want {
			t.Errorf("%s: %d final norms, want %d", block, n, want)
		}
	}
}

// Training is refused exactly if it needs more than the limit.
func TestActivationLimit(t *testing.T) {
	c := small()
	c.BatchSize = 1 << 16
	need, err := c.Memory()
	if err != nil {
		t.Fatal(err)
	}
	for share, refused := range map[float64]bool{0.9: false, 1.1: true, 1.9: true} {
		c.MemoryLimit = need / share / (1 << 30)
		if err := c.checkTraining(); (err != nil) != refused {
			t.Errorf("%v of the limit: got error %v", share, err)
		}
	}
}

// Errors are passed on: a masked model of size 0, an optimizer's, a bad pair to evaluate, the first bad copy.
func TestErrorsOnTheWay(t *testing.T) {
	c := small()
	c.SourceSize = 0
	if m, err := NewMasked(graph.New(graph.Float32, 1), c, 1); m != nil || err == nil ||
		!strings.Contains(err.Error(), "source_size: got 0") {
		t.Errorf("got %v and error %v", m, err)
	}
	c = small()
	c.Optimizer = "mine"
	c.Parts.Optimizers = []parts.Optimizer{
		{Name: "mine", New: func(train.Training) optim.Rule { return optim.SGD{Momentum: 2} }},
	}
	if _, err := NewTrainer(c, backwards{}); err == nil ||
		!strings.Contains(err.Error(), `optimizer "mine": sgd: momentum: got 2, want`) {
		t.Errorf("got error %v", err)
	}
	tr := newTrainer(t, small())
	if _, err := tr.Evaluate(t.Context(), list{{Source: []int{4}, Target: []int{99}}}); err == nil ||
		!strings.Contains(err.Error(), "99") {
		t.Errorf("evaluated a token outside the vocabulary: got error %v", err)
	}
	w, err := NewTranslator(tr.Model, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Read([][]int{{4, 5}}); err != nil {
		t.Fatal(err)
	}
	w.Fork(0, 7)
	w.Fork(0, 8)
	if _, err := w.Step([]int{Begin, Begin}); err == nil || !strings.Contains(err.Error(), "7") {
		t.Errorf("got error %v, want that of the first copy", err)
	}
}

// A Translator in float32 gives the same logits as one in float64.
func TestTranslatorFloat32(t *testing.T) {
	var logits [2][]float64
	var weights []graph.Expr
	for i, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
		m, err := New(graph.New(dtype, 1), small(), 1)
		if err != nil {
			t.Fatal(err)
		}
		shake(m)
		for j, p := range weights {
			for k := range p.Tensor().Len() {
				m.Params()[j].Tensor().Set(k, p.Tensor().At(k))
			}
		}
		weights = m.Params()
		w, err := NewTranslator(m, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Read([][]int{{4, 5, 6}, {7}}); err != nil {
			t.Fatal(err)
		}
		for _, tokens := range [][]int{{Begin, Begin, Begin, Begin}, {4, 5, 6, 7}} {
			out, err := w.Step(tokens)
			if err != nil {
				t.Fatal(err)
			}
			logits[i] = append(logits[i], out.Floats()...)
		}
	}
	for i, want := range logits[0] {
		if got := logits[1][i]; !(math.Abs(got-want) <= 1e-4*max(1, math.Abs(want))) {
			t.Fatalf("logit %d: got %v, want %v", i, got, want)
		}
	}
}

// In a window of a checkpoint of format 1 a token saw half on either side: 4 becomes 3, 1 stays 1.
func TestWindowsOfFormat1(t *testing.T) {
	for was, want := range map[int]int{1: 1, 4: 3, 5: 3} {
		c := small()
		c.Attention = "window"
		c.Options.Offer("window", was)
		tr := newTrainer(t, c)
		s, err := ReadState(saved(t, tr, abc(t), "", nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Config.Options.Get("window"); got != was {
			t.Errorf("format 2: got window %d, want %d", got, was)
		}
		cp := saved(
			t, tr, abc(t), train.StateFile,
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"format": 2`), []byte(`"format": 1`), 1) },
		)
		s, err = ReadState(cp)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Config.Options.Get("window"); got != want {
			t.Errorf("window %d: got %d, want %d", was, got, want)
		}
	}
}
