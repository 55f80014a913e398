package identity

import (
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// vector is a direction of the parameters, or a subset of its entries.
type vector map[string][]exact.Number

// direction draws a direction of all parameters.
func (p *point) direction() vector {
	v := vector{}
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		for i := range p.values[name] {
			a := exact.Number{}
			if !slices.Contains(p.Frozen, name) {
				a = p.draw.Variable(float64(i%3) - 0.75)
			}
			v[name] = append(v[name], a)
		}
	}
	return v
}

// unit returns the direction of one entry.
func (p *point) unit(name string, i int) vector {
	v := vector{name: make([]exact.Number, len(p.values[name]))}
	v[name][i] = p.draw.Real(1)
	return v
}

// moving returns the parameters with v as their tangents.
func (p *point) moving(v vector) map[string][]exact.Number {
	out := maps.Clone(p.values)
	for name, direction := range v {
		out[name] = slices.Clone(out[name])
		for i, a := range direction {
			out[name][i] = out[name][i].Along(a.Value, a.Real)
		}
	}
	return out
}

// along returns ⟨Δ, J v⟩ by the forward pass, and its degree.
func (p *point) along(v vector) (sum exact.Number, degree float64, err error) {
	_, y, err := p.forward(p.moving(v))
	if err != nil {
		return sum, 0, err
	}
	for i, a := range y {
		degree = max(degree, a.Degree()+p.delta[i].Degree())
		sum = p.draw.Add(sum, p.draw.Mul(p.delta[i], a.Derivative()))
	}
	return sum, degree, nil
}

// inner returns ⟨Jᵗ Δ, v⟩ for the gradients Jᵗ Δ, and its degree.
func (p *point) inner(g gradients, v vector) (sum exact.Number, degree float64) {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		for i, a := range g.entries[name] {
			degree = max(degree, a.Degree()+1)
			sum = p.draw.Add(sum, p.draw.Mul(a, v[name][i]))
		}
	}
	return sum, degree
}

// nonzero returns the entries of structural zeros that are not 0.
func (g gradients) nonzero() map[string][]int {
	out := map[string][]int{}
	for name, list := range g.zeros {
		for _, i := range list {
			if g.entries[name][i].Value != 0 {
				out[name] = append(out[name], i)
			}
		}
	}
	return out
}

const most = 200 // entries of a parameter that search looks at, if there are more

// search adds the entries whose gradients differ: the gradients of the parameters along which the passes differ.
func (p *point) search(g gradients, differing map[string][]int) error {
	all := p.direction()
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		own := vector{name: all[name]}
		left, _, err := p.along(own)
		if err != nil {
			return err
		}
		if right, _ := p.inner(g, own); left.Value == right.Value {
			continue
		}
		for i := 0; i < len(p.values[name]); i += 1 + len(p.values[name])/most {
			left, _, err := p.along(p.unit(name, i))
			if err != nil {
				return err
			}
			var got exact.Number
			if i < len(g.entries[name]) {
				got = g.entries[name][i]
			}
			if left.Value != got.Value && !slices.Contains(differing[name], i) {
				differing[name] = append(differing[name], i)
			}
		}
		slices.Sort(differing[name])
	}
	return nil
}
