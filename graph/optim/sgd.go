package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// SGD is stochastic gradient descent (Diab §2.5), the optimizer that AdamW improves on: for the gradient g,
//
//	m ← μm + g,  θ ← θ − η(m + λθ)
//
// with g scaled down beforehand so that its norm over all parameters is at most Clip, if Clip is not 0. Without
// Momentum μ it is θ ← θ − η(g + λθ) and has no state. As in AdamW the decay λ acts on matrices, not on gains and
// biases, and does not pass through the momentum. Use NewSGD: a literal has no parameters, and Update returns an error.
type SGD struct {
	Momentum    float64 // 0 ≤ μ < 1
	Decay, Clip float64 // at least 0
	Steps       int     // updates done

	*Gradients
	m []graph.Tensor // allocated when Momentum is not 0
}

// NewSGD returns an optimizer for parameters of one graph, with all settings 0.
func NewSGD(params []graph.Expr) (*SGD, error) {
	g, err := NewGradients("sgd", params)
	if err != nil {
		return nil, err
	}
	return &SGD{Gradients: g, m: make([]graph.Tensor, len(params))}, nil
}

// Shard makes this machine keep only its part of the moments; see AdamW.Shard.
func (o *SGD) Shard(p *graph.Program) error {
	if !o.created() {
		return errors.New("sgd: no parameters: create it with NewSGD")
	}
	return o.shard(p, o.m)
}

// created reports whether o comes from NewSGD.
func (o *SGD) created() bool { return o != nil && o.Gradients != nil && len(o.m) == len(o.params) }

// Moments calls f with every parameter's name and its momentum m, for saving or restoring it. The tensor v is empty,
// and so is m without Momentum.
func (o *SGD) Moments(f func(name string, m, v graph.Tensor)) {
	if f == nil || !o.created() {
		return
	}
	for i, p := range o.params {
		f(p.Name(), o.momentum(i), graph.Tensor{})
	}
}

// momentum returns the m of parameter i, which it allocates if necessary.
func (o *SGD) momentum(i int) graph.Tensor {
	if o.Momentum != 0 && o.m[i].F32 == nil && o.m[i].F64 == nil {
		o.m[i] = o.zeros(i)
	}
	return o.m[i]
}

// Update does one step at the learning rate lr; see Optimizer.
func (o *SGD) Update(p *graph.Program, lr float64) (norm float64, err error) {
	if !o.created() {
		return math.NaN(), errors.New("sgd: no parameters: create it with NewSGD")
	}
	if err := check("sgd", lr, o.Steps, fraction("momentum", o.Momentum), notNegative("decay", o.Decay),
		notNegative("clip", o.Clip)); err != nil {
		return math.NaN(), err
	}
	norm, err = o.Apply(p, o.Clip, func(i int, w, g graph.Tensor, scale float64) {
		k := kernel.SGD{LR: lr, Momentum: o.Momentum}
		if len(w.Shape) > 1 {
			k.Decay = o.Decay
		}
		if m := o.momentum(i); w.F32 != nil {
			kernel.Descend(o.pool, k, scale, w.F32, g.F32, m.F32)
		} else {
			kernel.Descend(o.pool, k, scale, w.F64, g.F64, m.F64)
		}
	})
	if err == nil {
		o.Steps++
	}
	return norm, err
}
