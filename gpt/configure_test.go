package gpt

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// A loop without a trainer computes the same as a trainer: after Configure the losses of the first batch and the
// gradients of all parameters are the same bits in every precision, and differ between precisions.
func TestConfigureIsTheTrainers(t *testing.T) {
	losses := map[float64]string{}
	for _, precision := range graph.Precisions() {
		c := tiny()
		c.Dropout, c.Precision = 0, precision
		trainer := newTrainer(t, c)
		var m *Model
		var p *graph.Program
		_, err := graph.Build(graph.Float32, c.Seed, func(g *graph.Graph) (err error) {
			c.Configure(g)
			if m, err = New(g, trainer.Config(), c.BatchSize); err != nil {
				return err
			}
			p, err = graph.Compile(m.Loss, m.Trainable()...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		step, err := trainer.Step()
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Tokens.Ints(), trainer.Model.Tokens.Ints())
		copy(m.Targets.Ints(), trainer.Model.Targets.Ints())
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if p.Loss() != step.Loss {
			t.Errorf("%s: got the loss %v, want the trainer's %v", precision, p.Loss(), step.Loss)
		}
		if m.Graph.Precision() != trainer.Model.Graph.Precision() {
			t.Errorf("%s: got %s, want the trainer's %s", precision, m.Graph.Precision(), trainer.Model.Graph.Precision())
		}
		if other, ok := losses[p.Loss()]; ok {
			t.Errorf("%s: got the loss %v of %s", precision, p.Loss(), other)
		}
		losses[p.Loss()] = precision
		decodesInFloat32(t, m)
	}
}

// decodesInFloat32 compares the bits of a decoder's logits with those of a model of the same weights in float32.
func decodesInFloat32(t *testing.T, m *Model) {
	t.Helper()
	c := m.Config
	c.Precision = ""
	plain, err := New(graph.New(graph.Float32, c.Seed), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	var logits [2][]float64
	for i, m := range []*Model{m, plain} {
		d, err := NewDecoder(m)
		if err != nil {
			t.Fatal(err)
		}
		x, err := d.Feed(1)
		if err != nil {
			t.Fatal(err)
		}
		for j := range x.Len() {
			logits[i] = append(logits[i], x.At(j))
		}
	}
	for i, got := range logits[0] {
		if want := logits[1][i]; got != want {
			t.Errorf("%s decodes: logit %d: got %v, want %v as in float32", m.Config.Precision, i, got, want)
		}
	}
}
