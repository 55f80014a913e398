package seq2seq

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// Translating uses no dropout.
func TestTranslatingDropsNothing(t *testing.T) {
	var logits [2][]float64
	for i, dropout := range []float64{0, 0.4} {
		c := small()
		c.Dropout = dropout
		m, err := New(graph.New(graph.Float64, 1), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		w, err := NewTranslator(m, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Read([][]int{{4, 5, 6}}); err != nil {
			t.Fatal(err)
		}
		for _, token := range []int{Begin, 4, 9} {
			out, err := w.Step([]int{token})
			if err != nil {
				t.Fatal(err)
			}
			logits[i] = append(logits[i], out.Floats()...)
		}
		if _, err := w.Step([]int{c.TargetVocab}); err == nil {
			t.Errorf("an invalid token: got no error")
		}
	}
	if !slices.Equal(logits[0], logits[1]) || len(logits[0]) != 30 {
		t.Errorf("got %v with dropout, %v without", logits[1], logits[0])
	}
}

// An option of the encoder's attention may be at the border of its range but not beyond it.
func TestOptionBorders(t *testing.T) {
	d := nn.Dims{Context: 5}
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, 5: true, 6: false} {
		if err := checkMixedKeys(n, d); (err == nil) != ok {
			t.Errorf("mixed_keys %d: got %v", n, err)
		}
		if err := checkWindow(n, d); (err == nil) != (n >= 1) {
			t.Errorf("window %d: got %v", n, err)
		}
	}
}

// The loss of an untrained model is about ln V per token, that of chance.
func TestEvaluateBegins(t *testing.T) {
	c := small()
	tr := newTrainer(t, c)
	got, err := tr.Evaluate(t.Context(), backwards{})
	if want := math.Log(float64(c.TargetVocab)); err != nil || !(math.Abs(got-want) <= 0.2) {
		t.Errorf("got %v, %v, want about %v", got, err, want)
	}
}

// A graph holds one model: a second one with the same names is an error.
func TestNewOnAFullGraph(t *testing.T) {
	g := graph.New(graph.Float32, 1)
	if _, err := New(g, small(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := New(g, small(), 1); err == nil {
		t.Error("no error")
	}
}
