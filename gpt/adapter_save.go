package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// SaveAdapter writes the model's adapters as a PEFT folder. If dir exists, it must be an empty directory. base is the
// name that the folder gives to the base model, such as openai-community/gpt2. If several of our adapters belong to one
// matrix of the family, like those of q, k and v for GPT-2's c_attn, the folder has their ranks one after another,
// which is exactly the same function.
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

// matrix returns the one adapter of that rank which computes the same as the pairs. A stacks the rows of their d; B
// holds each u in the columns that match its d and in its own rows.
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
