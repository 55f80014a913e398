package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// AdamW is the optimizer of Diab §2.5 with the bias corrections that it leaves out (errata D10): in step t, counted
// from 1, and for the gradient g,
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← θ − η(m̂/(√v̂ + ε) + λθ),  m̂ = m/(1−β₁ᵗ),  v̂ = v/(1−β₂ᵗ)
//
// with g scaled down beforehand so that its norm over all parameters is at most Clip, if Clip is not 0. The decay λ
// acts on matrices; gains and biases, which are vectors to the outside, have none. Its state can be read and set, so
// that a resumed run is bit-identical. Gorgonia's own AdamW never writes the decayed weight back. Use NewAdamW: a
// literal has no parameters, and Update returns an error.
type AdamW struct {
	Beta1, Beta2, Eps float64 // 0 ≤ β₁, β₂ < 1, ε > 0
	Decay, Clip       float64 // at least 0
	Steps             int     // updates done

	*Gradients
	m, v []graph.Tensor
}

// NewAdamW returns an optimizer for parameters of one graph, with β₁ = 0.9, β₂ = 0.999 and ε = 1e-8, as published, and
// without decay and clipping.
func NewAdamW(params []graph.Expr) (*AdamW, error) {
	g, err := NewGradients("adamw", params)
	if err != nil {
		return nil, err
	}
	o := &AdamW{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Gradients: g}
	for _, p := range params {
		o.m, o.v = append(o.m, zerosLike(p.Tensor())), append(o.v, zerosLike(p.Tensor()))
	}
	return o, nil
}

// Shard makes this machine, of those of Across, keep only the moments of its part of the parameters. It updates that
// part by the gradients of p, and fetches the others' parts (ZeRO-1, Rajbhandari et al. 2020). The parameters are the
// same bits. Moments passes parts with the Shape of the full moment; Whole completes them.
func (o *AdamW) Shard(p *graph.Program) error {
	if !o.created() {
		return errors.New("adamw: no parameters: create it with NewAdamW")
	}
	return o.shard(p, o.m, o.v)
}

// created reports whether o comes from NewAdamW.
func (o *AdamW) created() bool { return o != nil && o.Gradients != nil && len(o.m) == len(o.params) }

// Moments calls f with every parameter's name and its moments m and v, for saving or restoring them.
func (o *AdamW) Moments(f func(name string, m, v graph.Tensor)) {
	if f == nil || !o.created() {
		return
	}
	for i, p := range o.params {
		f(p.Name(), o.m[i], o.v[i])
	}
}

// Update does one step at the learning rate lr; see Optimizer.
func (o *AdamW) Update(p *graph.Program, lr float64) (norm float64, err error) {
	if !o.created() {
		return math.NaN(), errors.New("adamw: no parameters: create it with NewAdamW")
	}
	if err := check("adamw", lr, o.Steps, fraction("beta1", o.Beta1), fraction("beta2", o.Beta2),
		positive("eps", o.Eps), notNegative("decay", o.Decay), notNegative("clip", o.Clip)); err != nil {
		return math.NaN(), err
	}
	t := o.Steps + 1
	norm, err = o.apply(p, o.Clip, func(i int, w, g graph.Tensor, scale float64) (finite bool) {
		k := kernel.AdamW{LR: lr, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps}
		if len(w.Shape) > 1 {
			k.Decay = o.Decay
		}
		if w.F32 != nil {
			return kernel.Update(o.pool, k, t, scale, w.F32, g.F32, o.m[i].F32, o.v[i].F32)
		}
		return kernel.Update(o.pool, k, t, scale, w.F64, g.F64, o.m[i].F64, o.v[i].F64)
	})
	if err == nil && norm > 1e18 { // below that the squares are finite
		err = o.finite()
	}
	if err == nil {
		o.Steps = t
	}
	return norm, err
}

// finite returns an error if a mean square has overflowed: its parameter would never change again.
func (o *AdamW) finite() error {
	for i, p := range o.params {
		if err := o.v[i].Finite("v." + p.Name()); err != nil {
			return errors.Wrap(err, "after the update")
		}
	}
	return nil
}
