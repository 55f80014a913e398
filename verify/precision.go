package verify

import "github.com/pedestrian-ml/pedestrian/graph"

// forms returns the forms of every model, and the rounded one if the model's products are rounded.
func (s subject) forms() []form {
	if s.precision == "" || s.precision == graph.Precisions()[0] {
		return forms()
	}
	f := rounded32
	f.precision = s.precision // an unknown one makes the graph's error
	return append(forms(), f)
}

// rounding sets the tolerance of gradients whose products are in bfloat16, if a road has such.
//
// A number is rounded by at most u = 2⁻⁹ of it, so every entry of a product A·B is within (2u + u²)|A||B|. Compared
// with that, the rounding of sums in float32 is nothing. To first order the errors of several products add up. There is
// one product for each matrix, half as many again in attention, and all of them once more in the backward pass. If the
// terms of the products cancel, the relative error grows; if the errors cancel, it shrinks.
func (r *Report) rounding(roads []*results) {
	const u = 0x1p-9
	for _, road := range roads {
		if road.form != rounded32 {
			continue
		}
		r.Precision = road.precision
		for _, g := range road.grads {
			if g.Rows > 1 && g.Cols > 1 {
				r.ToleranceBF16 += 2 * 1.5 * 2 * u
			}
		}
	}
}
