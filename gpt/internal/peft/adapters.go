package peft

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Adapters describes a matrix of the model's family and our adapters for its blocks of columns. All of them have the
// same inputs.
type Adapters struct {
	name  string
	in    int
	pairs []nn.Adapter
	rows  []int // rows of its adapter's B, in the order of our columns; nil means one after another
	fanIn bool  // other programs also store it as (in, out)
}

// Group returns the adapters of a model's layers, grouped by the matrices of its family.
func Group(layers []*nn.LoRA, layout published.Layout) (list []Adapters) {
	for _, l := range layers {
		first := l.Adapters[0].Down
		name := strings.TrimSuffix(first.Name(), ".lora_d")
		if len(l.Adapters) > 1 {
			name = name[:strings.LastIndexByte(name, '.')] // c_attn.q
		}
		modules := layout.Modules(name)
		for i, m := range modules {
			s := Adapters{m.Name, first.Shape()[0], l.Adapters, nil, !m.Turned}
			if len(modules) > 1 { // q_proj, k_proj and v_proj have one adapter each
				s.pairs = l.Adapters[i : i+1]
				s.rows = make([]int, len(m.Columns))
				for row, column := range m.Columns {
					s.rows[column-s.pairs[0].From] = row
				}
			}
			list = append(list, s)
		}
	}
	return list
}

// Collect returns the matrices of a folder that computes the same as the adapters, whose rank is r, and the rank of the
// folder. If several of our adapters belong to one matrix, the folder has their ranks one after another. fanIn reports
// whether the base stores a matrix as (in, out).
func Collect(list []Adapters, r int) (matrices []Matrix, rank int, fanIn bool, err error) {
	for _, s := range list {
		rank, fanIn = max(rank, len(s.pairs)*r), fanIn || s.fanIn
	}
	for _, s := range list {
		m, err := s.matrix(rank)
		if err != nil {
			return nil, 0, false, err
		}
		matrices = append(matrices, m)
	}
	return matrices, rank, fanIn, nil
}

// matrix returns the one adapter of that rank which computes the same as the pairs. A stacks the rows of their d; B
// holds each u in the columns that match its d and in its own rows.
func (s Adapters) matrix(rank int) (Matrix, error) {
	m := Matrix{Name: s.name, A: make([]float32, rank*s.in), B: make([]float32, s.out()*rank)}
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

// out returns the number of columns.
func (s Adapters) out() int { return s.pairs[len(s.pairs)-1].To - s.pairs[0].From }

// row returns the row of B for one of our columns, counted from the first.
func (s Adapters) row(column int) int {
	if s.rows == nil {
		return column
	}
	return s.rows[column]
}
