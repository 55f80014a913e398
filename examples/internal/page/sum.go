package page

import "slices"

// Sum is a logit behind every token as a sum: of what each block adds by its parts, and of what stands alone.
type Sum struct {
	Of      []string  // the tokens whose logits they are
	Logits  []float64 // behind every token
	Columns []string
	Rows    []Adds
}

// Adds is what a block adds, or what stands alone: All behind every token, the sum of Parts, by column, if it has some.
type Adds struct {
	Name  string
	Parts map[string][]float64
	All   []float64
}

// Add adds a part to the row of that name, in a column; without a column the row stands alone.
func (s *Sum) Add(row, column string, logit []float64) {
	if len(s.Rows) == 0 || s.Rows[len(s.Rows)-1].Name != row {
		s.Rows = append(s.Rows, Adds{row, map[string][]float64{}, make([]float64, len(logit))})
	}
	r := s.Rows[len(s.Rows)-1]
	for t, x := range logit {
		r.All[t] += x
	}
	if column == "" {
		return
	}
	if r.Parts[column] = logit; !slices.Contains(s.Columns, column) {
		s.Columns = append(s.Columns, column)
	}
}
