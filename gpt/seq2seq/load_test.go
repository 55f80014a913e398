package seq2seq

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// A loaded model evaluates without dropout until it is switched to training.
func TestLoadedModelsEvaluate(t *testing.T) {
	c := small()
	c.Dropout = 0.5
	tr := newTrainer(t, c)
	m, _, err := LoadModel(saved(t, tr, abc(t), "", nil))
	if err != nil {
		t.Fatal(err)
	}
	pair := list{{Source: []int{4, 5, 6}, Target: []int{6, 5, 4}}}
	want, err := tr.Evaluate(t.Context(), pair)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Fill(pair); err != nil {
		t.Fatal(err)
	}
	p, err := graph.Compile(m.Loss, m.Params()...)
	if err != nil {
		t.Fatal(err)
	}
	loss := func() float64 {
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		return p.Loss()
	}
	for range 2 {
		if got := loss(); !(math.Abs(got-want) <= 1e-6*want) {
			t.Errorf("got loss %v, want that of an evaluation, %v", got, want)
		}
	}
	m.Graph.SetTraining(true)
	if a, b := loss(), loss(); a == b || a == want {
		t.Errorf("two steps of training drop the same: losses %v and %v, without dropout %v", a, b, want)
	}
}
