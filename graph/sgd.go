package graph

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// SGD is stochastic gradient descent (Diab §2.5), the optimizer that AdamW improves on: for the gradient g,
//
//	m ← μm + g,  θ ← θ − η(m + λθ)
//
// with g scaled down beforehand so that its norm over all parameters is at most Clip, if Clip is not 0. Without Momentum
// μ it is θ ← θ − η(g + λθ) and remembers nothing. As in AdamW the decay λ acts on matrices, not on gains and biases, and
// does not pass through the momentum.
type SGD struct {
	Momentum    float64
	Decay, Clip float64
	Steps       int // updates done

	gradients gradients
	m         []Tensor // made when there is a momentum
}

// NewSGD makes an optimizer of parameters of one graph, with everything 0.
func NewSGD(params []Expr) (*SGD, error) {
	g, err := newGradients("sgd", params)
	if err != nil {
		return nil, err
	}
	return &SGD{gradients: g, m: make([]Tensor, len(params))}, nil
}

// Moments calls f with every parameter's name and its momentum m, to save or to restore it; v is empty, and so is m
// without Momentum.
func (o *SGD) Moments(f func(name string, m, v Tensor)) {
	for i, p := range o.gradients.params {
		f(p.name, o.momentum(i), Tensor{})
	}
}

// momentum is the m of parameter i.
func (o *SGD) momentum(i int) Tensor {
	if o.Momentum != 0 && o.m[i].Len() == 0 {
		o.m[i] = o.gradients.params[i].Tensor().zeros()
	}
	return o.m[i]
}

// Accumulate adds the gradients of p's last run to the sum of which the next Update uses the mean.
func (o *SGD) Accumulate(p *Program) error { return o.gradients.accumulate(p) }

// Update does one step at the learning rate lr, as AdamW's does: with the gradients of p's last run, and those accumulated
// before. It returns the norm of the mean gradient over all parameters before clipping. If that is not finite,
// parameters and moments stay as they are, what was accumulated is forgotten, and the error, ErrNotFinite, names the first
// tensor that is to blame.
func (o *SGD) Update(p *Program, lr float64) (norm float64, err error) {
	grads, scale, norm, err := o.gradients.mean(p, o.Clip)
	if err != nil {
		return norm, err
	}
	o.Steps++
	for i, x := range o.gradients.params {
		w, g, m := x.Tensor(), grads[i], o.momentum(i)
		k := kernel.SGD{LR: lr, Momentum: o.Momentum}
		if len(w.Shape) > 1 {
			k.Decay = o.Decay
		}
		if w.F32 != nil {
			kernel.Descend(o.gradients.pool, k, scale, w.F32, g.F32, m.F32)
		} else {
			kernel.Descend(o.gradients.pool, k, scale, w.F64, g.F64, m.F64)
		}
	}
	o.gradients.forget()
	return norm, nil
}
