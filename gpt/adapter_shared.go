package gpt

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// sharing describes a matrix of the model's family and our adapters for its blocks of columns. All of them have the
// same inputs.
type sharing struct {
	name  string
	in    int
	pairs []nn.Adapter
	rows  []int // rows of its adapter's B, in the order of our columns; nil means one after another
	fanIn bool  // other programs also store it as (in, out)
}

// shared returns the model's adapters, grouped by the matrices of its family, or by GPT-2's if the model belongs to no
// family.
func (m *Model) shared() (list []sharing) {
	names, heads := m.Config.layout(), m.Config.heads()
	for _, l := range m.adapters {
		first := l.Adapters[0].Down
		name := strings.TrimSuffix(first.Name(), ".lora_d")
		if len(l.Adapters) > 1 {
			name = name[:strings.LastIndexByte(name, '.')] // c_attn.q
		}
		pieces := names.Pieces(name+".weight", heads)
		for i, p := range pieces {
			s := sharing{names.Module(p.Name), first.Shape()[0], l.Adapters, nil, !p.Turned}
			if len(pieces) > 1 { // q_proj, k_proj and v_proj have one adapter each
				s.pairs = l.Adapters[i : i+1]
				s.rows = make([]int, len(p.Columns))
				for row, column := range p.Columns {
					s.rows[column-s.pairs[0].From] = row
				}
			}
			list = append(list, s)
		}
	}
	return list
}

// layout returns the names that the model's family gives to its matrices.
func (c Config) layout() layout.Names {
	c.Adapters = Adapters{}
	f, _, err := c.family()
	if err != nil {
		f = gpt2()
	}
	return f.names
}

// out returns the number of columns.
func (s sharing) out() int { return s.pairs[len(s.pairs)-1].To - s.pairs[0].From }

// row returns the row of B for one of our columns, counted from the first.
func (s sharing) row(column int) int {
	if s.rows == nil {
		return column
	}
	return s.rows[column]
}
