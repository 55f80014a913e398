package optim

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Accumulate adds the gradients of p's last run to the sum whose mean the next Apply uses: in turn, or in the order set
// by Tree.
func (c *Gradients) Accumulate(p *graph.Program) error {
	if c == nil || len(c.params) == 0 {
		return errNoParams
	}
	if c.machines != nil {
		if err := c.divide(p); err != nil {
			return err
		}
	}
	grads := make([]graph.Tensor, len(c.params))
	for i, x := range c.params {
		g, err := c.of(p, x)
		if err != nil {
			return err
		}
		grads[i] = g
	}
	c.push(grads)
	c.batches++
	return nil
}

func (c *Gradients) of(p *graph.Program, x graph.Expr) (graph.Tensor, error) {
	g := p.Grad(x)
	if want := x.Tensor().Len(); g.Len() != want {
		return g, errors.Errorf(
			"%s: %s has %d entries, but its gradient has %d: was the program compiled with it, and run?",
			c.name, x.Name(), want, g.Len())
	}
	return g, nil
}

// Forget discards the accumulated gradients.
func (c *Gradients) Forget() {
	if c != nil {
		c.end()
		c.depth, c.batches = 0, 0
	}
}

// zerosLike returns zeros of the type and shape of t, for the state of an optimizer.
func zerosLike(t graph.Tensor) graph.Tensor {
	if t.F32 != nil {
		return graph.Tensor{Shape: t.Shape, F32: kernel.Make[float32](len(t.F32))}
	}
	return graph.Tensor{Shape: t.Shape, F64: kernel.Make[float64](len(t.F64))}
}
