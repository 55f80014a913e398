package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
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
	grads, err := c.computed(p)
	if err != nil {
		return err
	}
	c.push(grads)
	c.batches++
	return nil
}

// computed returns the gradients of p's last run.
func (c *Gradients) computed(p *graph.Program) (grads []graph.Tensor, err error) {
	grads = make([]graph.Tensor, len(c.params))
	for i, x := range c.params {
		if grads[i], err = c.of(p, x); err != nil {
			return nil, err
		}
	}
	return grads, nil
}

// Forget discards the accumulated gradients.
func (c *Gradients) Forget() {
	if c != nil {
		c.end()
		c.depth, c.batches = 0, 0
	}
}

// zerosLike returns zeros of the type and shape of t.
func zerosLike(t graph.Tensor) graph.Tensor {
	if t.F32 != nil {
		return graph.Tensor{Shape: t.Shape, F32: kernel.Make[float32](len(t.F32))}
	}
	return graph.Tensor{Shape: t.Shape, F64: kernel.Make[float64](len(t.F64))}
}
