package page

import "slices"

// Sum is a logit after every token as a sum: of the contributions of each block's parts, and of standalone rows.
type Sum struct {
	Of      []string  // the tokens whose logits they are
	Logits  []float64 // after every token
	Columns []string
	Rows    []Adds
}

// Adds is the contribution of a block or a standalone row: All after every token, the sum of Parts by column, if any.
type Adds struct {
	Name  string
	Parts map[string][]float64
	All   []float64
}

// Add adds a part to the row of that name, in a column; a row without a column is standalone.
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
