package verify

import "github.com/pedestrian-ml/pedestrian/graph"

// forms returns those of every model, and one more of one whose products are rounded.
func (s subject) forms() []form {
	if s.precision == "" || s.precision == graph.Precisions()[0] {
		return forms()
	}
	f := rounded32
	f.precision = s.precision // one that no graph knows is its error
	return append(forms(), f)
}

// rounding is how far the gradients of products in bfloat16 may be off, if there are such among the roads.
//
// A number is rounded by at most u = 2⁻⁹ of it, so every entry of a product A·B is within (2u + u²)|A||B|, next to
// which the rounding of sums in float32 is nothing. To first order what several products add is the sum of that, and
// there are as many as matrices, half as many again in attention, and all of them once more in the backward pass. Where
// their terms cancel the share of an error grows, and where errors cancel it shrinks.
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
