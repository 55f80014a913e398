package peft

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Adapters describes a matrix of the model's family and our adapters for it. All of them have the same inputs.
type Adapters struct {
	name    string
	in, out int
	parts   []part
	fanIn   bool // other programs also store it as (in, out)
	ordered bool // it is one matrix with our columns in another order
}

// part is one of our adapters for a matrix.
type part struct {
	nn.Adapter
	weight string // parameter of the base, which has the columns From … To−1
	rows   []int  // of the matrix's B, one for each column of u
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
		for _, m := range modules {
			i := slices.IndexFunc(list, func(s Adapters) bool { return s.name == m.Name })
			if i < 0 {
				i, list = len(list), append(list, Adapters{name: m.Name, in: first.Shape()[0], fanIn: !m.Turned})
			}
			list[i].add(l.Adapters, l.Base.Weight.Name(), m)
			list[i].ordered = len(modules) == 1 && m.Columns != nil
		}
	}
	return list
}

// add adds the adapters of a layer whose columns the matrix holds.
func (s *Adapters) add(list []nn.Adapter, weight string, m published.Module) {
	columns := m.Columns
	if columns == nil {
		columns = make([]int, list[len(list)-1].To)
		for i := range columns {
			columns[i] = i
		}
	}
	row := make(map[int]int, len(columns))
	for i, column := range columns {
		row[column] = m.Part*len(columns) + i
	}
	for _, a := range list {
		p := part{Adapter: a, weight: weight}
		for column := a.From; column < a.To; column++ {
			if at, ok := row[column]; ok {
				p.rows = append(p.rows, at)
			}
		}
		if len(p.rows) > 0 {
			s.parts, s.out = append(s.parts, p), s.out+len(p.rows)
		}
	}
}

// Collect returns the matrices of a folder that computes the same as the adapters, whose rank is r, and the rank of the
// folder. If several of our adapters belong to one matrix, the folder has their ranks one after another. fanIn reports
// whether the base stores a matrix as (in, out).
func Collect(list []Adapters, r int) (matrices []Matrix, rank int, fanIn bool, err error) {
	for _, s := range list {
		rank, fanIn = max(rank, len(s.parts)*r), fanIn || s.fanIn
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

// matrix returns the one adapter of that rank which computes the same as the parts. A stacks the rows of their d; B
// holds each u in the columns that match its d and in its own rows.
func (s Adapters) matrix(rank int) (Matrix, error) {
	m := Matrix{Name: s.name, A: make([]float32, rank*s.in), B: make([]float32, s.out*rank)}
	first := 0
	for _, p := range s.parts {
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
				m.B[p.rows[col]*rank+first+k] = float32(u.At(k*cols + col))
			}
		}
		first += r
	}
	return m, nil
}
