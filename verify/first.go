package verify

import (
	"fmt"
	"slices"
	"strings"
)

// firstWrong goes from the loss downwards to the first Δ that a witness has otherwise; if there is none, to the first
// wrong gradient of a parameter.
func firstWrong(m Model, r *Report, g Gradients[float64], witnesses []*answers) string {
	top := 0.0
	for _, d := range g.Deltas {
		top = max(top, Largest(Parameters[float64]{"": d.Value}))
	}
	for _, d := range g.Deltas {
		for _, w := range witnesses {
			got, ok := w.deltas[d.Name]
			if !ok || got.Rows != d.Value.Rows || got.Cols != d.Value.Cols {
				continue
			}
			if diff := Distance(got, d.Value, top); !(diff.Distance <= r.tolerance(w.form)) {
				return fmt.Sprintf("the first wrong Δ from the loss downwards: %s, at the output of %s, %s: %s has %v, by hand %v (row %d, column %d, distance %.1e)",
					m.equationOfDelta(d.Name), d.Name, m.position(d.Name, diff), w.form.name, diff.Got, diff.Want, diff.Row, diff.Col, diff.Distance)
			}
		}
	}
	return firstGradient(r, g.Parameters, witnesses)
}

// firstGradient is the last row of the table that a witness has otherwise.
func firstGradient(r *Report, want Parameters[float64], witnesses []*answers) string {
	largest := Largest(want)
	for _, row := range slices.Backward(r.Rows) {
		for _, w := range witnesses {
			if d := row.difference(row.part(w.grads), row.part(want), largest); !(d.Distance <= r.tolerance(w.form)) {
				return fmt.Sprintf("the first wrong gradient from the loss downwards: %s, row %d, column %d: %s has %v, want %v (distance %.1e)",
					row.title(), d.Row, d.Col, w.form.name, d.Got, d.Want, d.Distance)
			}
		}
	}
	return ""
}

func (r *Report) tolerance(f form) float64 {
	if f.wide {
		return r.Tolerance
	}
	return r.ToleranceFloat32
}

// position says where in an activation of the model a difference is: sequence, token, and head where it has one.
func (m Model) position(name string, d Difference) string {
	c := m.Config
	where := fmt.Sprintf("feature %d", d.Col)
	switch {
	case strings.HasSuffix(name, ".attn.heads"):
		where = fmt.Sprintf("head %d, feature %d", d.Col/c.VSize, d.Col%c.VSize)
	case strings.HasSuffix(name, ".attn.c_attn"):
		qk := c.NHead * c.QKSize
		switch block := min(d.Col/qk, 2); block {
		case 2:
			where = fmt.Sprintf("values, head %d, feature %d", (d.Col-2*qk)/c.VSize, (d.Col-2*qk)%c.VSize)
		default:
			where = fmt.Sprintf("%s, head %d, feature %d", []string{"queries", "keys"}[block], d.Col%qk/c.QKSize, d.Col%c.QKSize)
		}
	}
	return fmt.Sprintf("sequence %d, token %d, %s", d.Row/c.BlockSize, d.Row%c.BlockSize, where)
}

func blockName(i int) string { return fmt.Sprintf("h.%d", i) }
