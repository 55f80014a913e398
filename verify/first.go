package verify

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// firstWrong describes the first Δ, from the loss downwards, at which a road is wrong. If there is none, it describes
// the first wrong gradient of a parameter.
func firstWrong(s subject, r *Report, g hand.Gradients[float64], roads []*results) string {
	top := 0.0
	for _, d := range g {
		if d.Delta {
			top = max(top, Largest(hand.Parameters[float64]{"": d.Value}))
		}
	}
	for _, d := range slices.Backward(g) {
		for _, road := range roads {
			got, ok := road.deltas[d.Name]
			if !d.Delta || !ok || got.Rows != d.Value.Rows || got.Cols != d.Value.Cols {
				continue
			}
			if diff := Distance(got, d.Value, top); !(diff.Distance <= r.road(road.form.name).tolerance) {
				return fmt.Sprintf("the first wrong Δ from the loss downwards: %s, at the output of %s, %s: "+
					"%s has %v, by hand %v (row %d, column %d, distance %.1e)",
					d.Equation, d.Name, s.position(d.Name, diff),
					road.form.name, diff.Got, diff.Want, diff.Row, diff.Col, diff.Distance)
			}
		}
	}
	return firstGradient(r, g.Parameters(), roads)
}

// firstGradient describes the last row of the table at which a road is wrong.
func firstGradient(r *Report, want hand.Parameters[float64], roads []*results) string {
	largest := Largest(want)
	for _, row := range slices.Backward(r.Rows) {
		for _, road := range roads {
			d := row.difference(row.part(road.grads), row.part(want), largest)
			if !(d.Distance <= r.road(road.form.name).tolerance) {
				return fmt.Sprintf("the first wrong gradient from the loss downwards: %s, row %d, column %d: "+
					"%s has %v, want %v (distance %.1e)",
					row.title(), d.Row, d.Col, road.form.name, d.Got, d.Want, d.Distance)
			}
		}
	}
	return ""
}
