package identity

import (
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Hessian is the product of the Hessian of Σ Δ ∘ result with a direction v, by dual numbers over the backward pass by
// hand.
type Hessian struct {
	Symmetric bool                     // uᵀHv = vᵀHu in the field, for another direction u
	V, HV     hand.Parameters[float64] // the direction and the product in real numbers
	Delta     hand.Matrix[float64]     // Δ in real numbers
}

// Hessian returns the product at one random point.
func (f Formula) Hessian(seed uint64) (h Hessian, err error) {
	p, err := f.point(seed)
	if err != nil {
		return h, err
	}
	if _, _, err := p.forward(p.values); err != nil {
		return h, err
	}
	u, v := p.direction(), p.direction()
	hu, err := p.gradients(p.moving(u))
	if err != nil {
		return h, err
	}
	hv, err := p.gradients(p.moving(v))
	if err != nil {
		return h, err
	}
	left, right := p.bilinear(u, hv), p.bilinear(v, hu)
	h.Symmetric = left == right
	h.Delta = hand.Zeros[float64](p.rows, len(p.delta)/max(p.rows, 1))
	for i, a := range p.delta {
		h.Delta.Data[i] = a.Real
	}
	h.V, h.HV = hand.Parameters[float64]{}, hand.Parameters[float64]{}
	for name, at := range p.At {
		own, product := hand.Zeros[float64](at.Rows, at.Cols), hand.Zeros[float64](at.Rows, at.Cols)
		for i, a := range v[name] {
			own.Data[i] = a.Real
		}
		for i, a := range hv.entries[name] {
			product.Data[i] = a.Derivative().Real
		}
		h.V[name], h.HV[name] = own, product
	}
	return h, nil
}

// bilinear returns Σ u ∘ g', where g' is the tangent of g.
func (p *point) bilinear(u vector, g gradients) exact.Element {
	var sum exact.Number
	for _, name := range slices.Sorted(maps.Keys(u)) {
		for i, a := range g.entries[name] {
			sum = p.draw.Add(sum, p.draw.Mul(u[name][i], a.Derivative()))
		}
	}
	return sum.Value
}
