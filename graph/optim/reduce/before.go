package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Before makes every Apply call f with the parameters and their gradients before they are clipped. The gradients are
// the mean of p's last run and the accumulated ones, copied so that f may write to them. If f fails, Apply returns its
// error and calls no step. A nil f removes the call.
func (c *Gradients) Before(f func(params []graph.Expr, grads []graph.Tensor) error) {
	if c != nil {
		c.before = f
	}
}

// show passes the mean of the accumulated gradients to the function set by Before.
func (c *Gradients) show() error {
	sums := c.total()
	for _, sum := range sums {
		scaleBy(sum.F32, 1/float64(c.batches))
		scaleBy(sum.F64, 1/float64(c.batches))
	}
	c.batches = 1
	if err := c.before(c.params, sums); err != nil {
		c.Forget()
		return errors.Wrap(err, c.name)
	}
	return nil
}

func scaleBy[T float32 | float64](list []T, factor float64) {
	if factor == 1 {
		return
	}
	for i, x := range list {
		list[i] = T(float64(x) * factor)
	}
}
