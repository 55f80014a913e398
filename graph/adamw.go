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

	pool    *kernel.Pool
	params  []Expr
	m, v    []Tensor
	grads   []Tensor // the sum over micro-batches
	batches int
}

// NewAdamW makes an optimizer of parameters of one graph, with ε = 1e-8 and everything else 0.
func NewAdamW(params []Expr) (*AdamW, error) {
	if len(params) == 0 {
		return nil, errors.New("adamw: no parameters")
	}
	o := &AdamW{Eps: 1e-8, pool: params[0].g.pool, params: params, grads: make([]Tensor, len(params))}
	for _, p := range params {
		if p.dense == nil {
			return nil, errors.New("adamw: a parameter is empty")
		}
		t := p.Tensor()
		o.m, o.v = append(o.m, t.zeros()), append(o.v, t.zeros())
	}
	return o, nil
}

func (t Tensor) zeros() Tensor {
	if t.F32 != nil {
		return Tensor{Shape: t.Shape, F32: kernel.Make[float32](len(t.F32))}
	}
	return Tensor{Shape: t.Shape, F64: kernel.Make[float64](len(t.F64))}
}

// Moments calls f with every parameter's name and its moments m and v, to save or to restore them.
func (o *AdamW) Moments(f func(name string, m, v Tensor)) {
	for i, p := range o.params {
		f(p.name, o.m[i], o.v[i])
	}
}

// Accumulate adds the gradients of p's last run to the sum of which the next Update uses the mean.
func (o *AdamW) Accumulate(p *Program) error {
	for i, x := range o.params {
		g, err := o.gradient(p, x)
		if err != nil {
			return err
		}
		switch sum := o.grads[i]; {
		case sum.Len() == 0:
			o.grads[i] = g.Clone()
		case sum.F32 != nil:
			kernel.Add(o.pool, sum.F32, sum.F32, g.F32)
		default:
			kernel.Add(o.pool, sum.F64, sum.F64, g.F64)
		}
	}
	o.batches++
	return nil
}

func (o *AdamW) gradient(p *Program, x Expr) (Tensor, error) {
	g := p.Grad(x)
	if want := x.Tensor().Len(); g.Len() != want {
		return g, errors.Errorf("adamw: %s has %d entries, the program's gradient of it %d", x.name, want, g.Len())
	}
	return g, nil
}

// Update does one step at the learning rate lr with the gradients of p's last run, and those accumulated before: the
// last micro-batch need not be accumulated, so a step of one micro-batch copies nothing. It returns the norm of the mean
// gradient over all parameters before clipping. If that is not finite, nothing is changed, and the error, ErrNotFinite,
// names the first tensor that is to blame.
func (o *AdamW) Update(p *Program, lr float64) (norm float64, err error) {
	grads := make([]Tensor, len(o.params))
	if o.batches > 0 {
		if err := o.Accumulate(p); err != nil {
			return 0, err
		}
		copy(grads, o.grads)
	}
	scale := 1 / float64(max(1, o.batches))
	var squares float64
	for i, x := range o.params {
		if o.batches == 0 {
			if grads[i], err = o.gradient(p, x); err != nil {
				return 0, err
			}
		}
		s := grads[i].squares(o.pool)
		if math.IsNaN(s) || math.IsInf(s, 0) {
			o.forget()
			return math.NaN(), errors.Wrapf(ErrNotFinite, "the gradient of %s", x.name)
		}
		squares += s
	}
	norm = scale * math.Sqrt(squares)
	if o.Clip > 0 && norm > o.Clip {
		scale *= o.Clip / norm
	}
	o.Steps++
	for i, x := range o.params {
		o.update(x.Tensor(), grads[i], o.m[i], o.v[i], lr, scale)
	}
	o.forget()
	return norm, nil
}

// forget clears what was accumulated.
func (o *AdamW) forget() {
	for i := range o.grads {
		clear(o.grads[i].F32)
		clear(o.grads[i].F64)
	}
	o.batches = 0
}

func (t Tensor) squares(p *kernel.Pool) float64 {
	if t.F32 != nil {
		return kernel.SumSquares(p, t.F32)
	}
	return kernel.SumSquares(p, t.F64)
}

func (o *AdamW) update(w, g, m, v Tensor, lr, scale float64) {
	k := kernel.AdamW{LR: lr, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps}
	if len(w.Shape) > 1 {
		k.Decay = o.Decay
	}
	if w.F32 != nil {
		kernel.Update(o.pool, k, o.Steps, scale, w.F32, g.F32, m.F32, v.F32)
	} else {
		kernel.Update(o.pool, k, o.Steps, scale, w.F64, g.F64, m.F64, v.F64)
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
