package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// SaveAdapter writes the model's adapters as a PEFT folder. There must be nothing at dir but an empty directory. base
// is what the folder is to call the model that they are for, such as openai-community/gpt2. Where several adapters of
// ours stand beside one matrix of the family's, as for q, k and v beside GPT-2's c_attn, the folder has their ranks one
// after another: it is the same function exactly.
func (m *Model) SaveAdapter(dir, base string) error {
	switch err := m.loose(); {
	case err != nil:
		return err
	case m.Config.LoraR == 0:
		return errors.New("adapter: the model has none, lora_r is 0")
	}
	targets, err := m.Config.modules()
	if err != nil {
		return err
	}
	list, wide, fanIn := m.shared(), 1, false
	for _, s := range list {
		wide, fanIn = max(wide, len(s.pairs)), fanIn || s.fanIn
	}
	c := peft.Config{Base: base, Rank: wide * m.Config.LoraR, Targets: targets, FanIn: fanIn}
	c.Alpha = m.Config.scale() * float64(c.Rank)
	var matrices []peft.Matrix
	err = m.reading(func() error {
		for _, s := range list {
			matrix, err := s.matrix(c.Rank)
			if err != nil {
				return err
			}
			matrices = append(matrices, matrix)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return peft.Write(dir, c, matrices)
}

// matrix returns the one adapter of that rank that computes what the pairs do: A has their d one below another, B their
// u each beside its d and in its rows.
func (s sharing) matrix(rank int) (peft.Matrix, error) {
	m := peft.Matrix{Name: s.name, A: make([]float32, rank*s.in), B: make([]float32, s.out()*rank)}
	first := 0
	for _, p := range s.pairs {
		d, u := p.Down.Tensor(), p.Up.Tensor()
		for _, t := range []struct {
			graph.Tensor
			name string
		}{{d, p.Down.Name()}, {u, p.Up.Name()}} {
			if err := t.Finite(t.name); err != nil {
				return m, errors.WithMessage(err, "adapter")
			}
		}
		r, cols := d.Shape[1], u.Shape[1]
		for k := range r {
			for row := range s.in {
				m.A[(first+k)*s.in+row] = float32(d.At(row*r + k))
			}
			for col := range cols {
				m.B[s.row(p.From-s.pairs[0].From+col)*rank+first+k] = float32(u.At(k*cols + col))
			}
		}
		first += r
	}
	return m, nil
}
