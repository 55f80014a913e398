package graph

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// gradients collects the gradients of micro-batches for an optimizer.
type gradients struct {
	name    string // of the optimizer, for errors
	pool    *kernel.Pool
	params  []Expr
	sums    []Tensor // over micro-batches
	batches int
}

// newGradients is for parameters of one graph.
func newGradients(name string, params []Expr) (gradients, error) {
	if len(params) == 0 {
		return gradients{}, errors.Errorf("%s: no parameters", name)
	}
	for _, p := range params {
		if p.dense == nil {
			return gradients{}, errors.Errorf("%s: a parameter is empty", name)
		}
	}
	return gradients{name: name, pool: params[0].g.pool, params: params, sums: make([]Tensor, len(params))}, nil
}

func (c *gradients) accumulate(p *Program) error {
	for i, x := range c.params {
		g, err := c.of(p, x)
		if err != nil {
			return err
		}
		switch sum := c.sums[i]; {
		case sum.Len() == 0:
			c.sums[i] = g.Clone()
		case sum.F32 != nil:
			kernel.Add(c.pool, sum.F32, sum.F32, g.F32)
		default:
			kernel.Add(c.pool, sum.F64, sum.F64, g.F64)
		}
	}
	c.batches++
	return nil
}

func (c *gradients) of(p *Program, x Expr) (Tensor, error) {
	g := p.Grad(x)
	if want := x.Tensor().Len(); g.Len() != want {
		return g, errors.Errorf("%s: %s has %d entries, the program's gradient of it %d", c.name, x.name, want, g.Len())
	}
	return g, nil
}

// mean is the gradients of p's last run and of those accumulated before, to be multiplied by scale, and the norm of that
// before it is clipped. A single micro-batch is not copied.
func (c *gradients) mean(p *Program, clip float64) (grads []Tensor, scale, norm float64, err error) {
	grads = make([]Tensor, len(c.params))
	if c.batches > 0 {
		if err := c.accumulate(p); err != nil {
			return nil, 0, 0, err
		}
		copy(grads, c.sums)
	}
	scale = 1 / float64(max(1, c.batches))
	var squares float64
	for i, x := range c.params {
		if c.batches == 0 {
			if grads[i], err = c.of(p, x); err != nil {
				return nil, 0, 0, err
			}
		}
		s := grads[i].squares(c.pool)
		if math.IsNaN(s) || math.IsInf(s, 0) {
			c.forget()
			return nil, 0, math.NaN(), errors.Wrapf(ErrNotFinite, "the gradient of %s", x.name)
		}
		squares += s
	}
	norm = scale * math.Sqrt(squares)
	if clip > 0 && norm > clip {
		scale *= clip / norm
	}
	return grads, scale, norm, nil
}

// forget clears what was accumulated.
func (c *gradients) forget() {
	for i := range c.sums {
		clear(c.sums[i].F32)
		clear(c.sums[i].F64)
	}
	c.batches = 0
}

func (t Tensor) squares(p *kernel.Pool) float64 {
	if t.F32 != nil {
		return kernel.SumSquares(p, t.F32)
	}
	return kernel.SumSquares(p, t.F64)
}

func (t Tensor) zeros() Tensor {
	if t.F32 != nil {
		return Tensor{Shape: t.Shape, F32: kernel.Make[float32](len(t.F32))}
	}
	return Tensor{Shape: t.Shape, F64: kernel.Make[float64](len(t.F64))}
}
