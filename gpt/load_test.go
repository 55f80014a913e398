package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
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
	want, err := trainer.Loss(t.Context())
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
