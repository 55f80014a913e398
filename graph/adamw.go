package graph

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// ErrNotFinite means that a tensor holds NaN or ±∞; the message names it.
var ErrNotFinite = errors.New("not finite")

// AdamW is the optimizer of Diab §2.5 with the bias corrections that it leaves out (errata D10): in step t, counted from
// 1, and for the gradient g,
//
//	m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← θ − η(m̂/(√v̂ + ε) + λθ),  m̂ = m/(1−β₁ᵗ),  v̂ = v/(1−β₂ᵗ)
//
// with g scaled down beforehand so that its norm over all parameters is at most Clip, if Clip is not 0. The decay λ
// acts on matrices; gains and biases, which are vectors to the outside, have none. Its state can be read and set, so that
// training resumes exactly. Gorgonia's own AdamW never writes the decayed weight back.
type AdamW struct {
	Beta1, Beta2, Eps float64
	Decay, Clip       float64
	Steps             int // updates done

	gradients gradients
	m, v      []Tensor
}

// NewAdamW makes an optimizer of parameters of one graph, with ε = 1e-8 and everything else 0.
func NewAdamW(params []Expr) (*AdamW, error) {
	g, err := newGradients("adamw", params)
	if err != nil {
		return nil, err
	}
	o := &AdamW{Eps: 1e-8, gradients: g}
	for _, p := range params {
		t := p.Tensor()
		o.m, o.v = append(o.m, t.zeros()), append(o.v, t.zeros())
	}
	return o, nil
}

// Moments calls f with every parameter's name and its moments m and v, to save or to restore them.
func (o *AdamW) Moments(f func(name string, m, v Tensor)) {
	for i, p := range o.gradients.params {
		f(p.name, o.m[i], o.v[i])
	}
}

// Accumulate adds the gradients of p's last run to the sum of which the next Update uses the mean.
func (o *AdamW) Accumulate(p *Program) error { return o.gradients.accumulate(p) }

// Update does one step at the learning rate lr with the gradients of p's last run, and those accumulated before: the
// last micro-batch need not be accumulated, so a step of one micro-batch copies nothing. It returns the norm of the mean
// gradient over all parameters before clipping. If that is not finite, parameters and moments stay as they
// are, what was accumulated is forgotten, and the error, ErrNotFinite, names the first tensor that is to blame.
func (o *AdamW) Update(p *Program, lr float64) (norm float64, err error) {
	grads, scale, norm, err := o.gradients.mean(p, o.Clip)
	if err != nil {
		return norm, err
	}
	o.Steps++
	for i, x := range o.gradients.params {
		o.update(x.Tensor(), grads[i], o.m[i], o.v[i], lr, scale)
	}
	o.gradients.forget()
	return norm, nil
}

func (o *AdamW) update(w, g, m, v Tensor, lr, scale float64) {
	k := kernel.AdamW{LR: lr, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps}
	if len(w.Shape) > 1 {
		k.Decay = o.Decay
	}
	if w.F32 != nil {
		kernel.Update(o.gradients.pool, k, o.Steps, scale, w.F32, g.F32, m.F32, v.F32)
	} else {
		kernel.Update(o.gradients.pool, k, o.Steps, scale, w.F64, g.F64, m.F64, v.F64)
	}
}

// Finite is an ErrNotFinite that names the tensor and the entry if t holds NaN or ±∞.
func (t Tensor) Finite(name string) error {
	for i := range t.Len() {
		if x := t.At(i); math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.Wrapf(ErrNotFinite, "%s: entry %d is %v", name, i, x)
		}
	}
	return nil
}
