package reduce

import (
	"math"
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Gradients accumulates the gradients of micro-batches, takes their mean and clips it.
type Gradients struct {
	tree
	ranks
	before   func(params []graph.Expr, grads []graph.Tensor) error
	parallel []int // parameters that are updated at the same time
}

// New returns Gradients for parameters of one graph. It returns an error for a value, for the result of an operation,
// and for a parameter listed twice. The optimizer's name is for errors.
func New(optimizer string, params []graph.Expr) (*Gradients, error) {
	l, err := newLayout(optimizer, params)
	if err != nil {
		return nil, err
	}
	return &Gradients{tree: tree{layout: l}}, nil
}

var errNoParams = errors.New("gradients of no parameters: create them with New")

// Update is the update of a parameter: its index i, its numbers w and its gradient scale·g. On a machine that has only
// a part of every parameter, w and g are that part, with the Shape of the entire parameter. Updates that run at the
// same time have different numbers of a thread, from 0 to before the number of the pool's threads.
type Update func(thread, i int, w, g graph.Tensor, scale float64) (finite bool)

// Apply calls update for every parameter. The gradient is the mean of p's last run and the accumulated ones, scaled
// down so that its norm over all parameters is at most clip, if clip is not 0. Apply returns the norm before clipping,
// and discards the accumulated gradients. If the norm is not finite, it calls no update, and the error,
// graph.ErrNotFinite, names the first parameter whose gradient has such an entry. If update reports that its results
// are not finite, the error names the first such parameter.
func (c *Gradients) Apply(p *graph.Program, clip float64, update Update) (norm float64, err error) {
	switch {
	case c == nil || len(c.params) == 0:
		return math.NaN(), errNoParams
	case update == nil:
		return math.NaN(), errors.Errorf("%s: the update is nil", c.name)
	}
	grads, scale, err := c.mean(p)
	if err != nil {
		return math.NaN(), err
	}
	squares, err := c.squares(grads)
	if err != nil {
		c.Forget()
		return math.NaN(), err
	}
	norm = scale * math.Sqrt(squares)
	if clip > 0 && norm > clip {
		scale *= clip / norm
	}
	c.params[0].Graph().Exclusive(func() { err = c.update(grads, scale, update) })
	c.Forget()
	return norm, err
}

// mean returns the sums of the gradients and the factor that makes them the mean. The gradients of a single micro-batch
// are not copied unless other code needs them.
func (c *Gradients) mean(p *graph.Program) (grads []graph.Tensor, scale float64, err error) {
	if c.batches == 0 && c.before == nil && c.machines == nil {
		grads, err = c.computed(p)
		return grads, 1, err
	}
	if c.machines == nil {
		err = c.Accumulate(p)
	} else {
		err = c.arrived(p)
	}
	if err == nil && c.before != nil {
		err = c.show()
	}
	if err != nil {
		return nil, 0, err
	}
	return c.total(), 1 / float64(c.batches), nil
}

// update calls update for every parameter, or for this machine's part, and then fetches the other parts.
func (c *Gradients) update(grads []graph.Tensor, scale float64, update Update) error {
	var broken atomic.Int64 // the first parameter whose update is not finite, minus the number of parameters
	one := func(thread, i int) {
		w, g := c.params[i].Tensor(), grads[i]
		if c.own != nil {
			from, to := c.own[i].from, c.own[i].to
			w.F32, g.F32 = w.F32[from:to], g.F32[from:to]
		}
		if update(thread, i, w, g, scale) {
			return
		}
		for at := int64(i - len(c.params)); ; {
			if first := broken.Load(); at >= first || broken.CompareAndSwap(first, at) {
				return
			}
		}
	}
	for i := range c.params {
		if !slices.Contains(c.parallel, i) {
			one(0, i)
		}
	}
	c.params[0].Graph().Pool().Tasks(len(c.parallel), func(thread, i int) { one(thread, c.parallel[i]) })
	if first := broken.Load(); first < 0 {
		x := c.params[int(first)+len(c.params)]
		return errors.Wrap(x.Tensor().Finite(x.Name()), "after the update")
	}
	if c.own != nil {
		return c.fetch()
	}
	return nil
}
