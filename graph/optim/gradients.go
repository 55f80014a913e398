package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Gradients accumulates the gradients of micro-batches, takes their mean and clips it. All optimizers begin with this.
type Gradients struct {
	name    string // the optimizer's name, for errors
	pool    *kernel.Pool
	params  []graph.Expr
	index   map[string]int // name → index in params
	places  []int          // start of each parameter in a flat sum, aligned to cache lines
	size    int            // numbers in the flat sum
	run     int            // number of micro-batches added in turn before sums are paired; 0 means all
	sums    []sum          // sums over micro-batches: depth are in use, the others are memory to reuse
	depth   int
	batches int // number of micro-batches in all sums

	before func(params []graph.Expr, grads []graph.Tensor) error

	machines     Machines // nil, like the following fields, for a machine alone
	buckets      []bucket
	own          []stretch // this machine's part of every parameter; nil means all
	flight, left *flight   // this step's, and that of a step that was given up
}

// NewGradients returns Gradients for parameters of one graph. It returns an error for a value, for the result of an
// operation, and for a parameter listed twice. The optimizer's name is for errors.
func NewGradients(optimizer string, params []graph.Expr) (*Gradients, error) {
	if len(params) == 0 {
		return nil, errors.Errorf("%s: no parameters", optimizer)
	}
	g := params[0].Graph()
	left := map[string]bool{}
	for _, p := range g.Params() {
		left[p.Name()] = true
	}
	for _, p := range params {
		switch {
		case p.Tensor().Len() == 0:
			return nil, errors.Errorf("%s: a parameter is empty", optimizer)
		case p.Graph() != g:
			return nil, errors.Errorf("%s: %s and %s belong to different graphs", optimizer, params[0].Name(), p.Name())
		case !left[p.Name()]:
			return nil, errors.Errorf("%s: %s is a value, not a parameter, or listed twice", optimizer, p.Name())
		}
		delete(left, p.Name())
	}
	c := &Gradients{name: optimizer, pool: params[0].Graph().Pool(), params: params, index: map[string]int{}}
	for i, p := range params {
		c.index[p.Name()] = i
		c.places = append(c.places, c.size)
		c.size += lines(p.Tensor().Len())
	}
	return c, nil
}

var errNoParams = errors.New("an optimizer without parameters: create it with NewGradients")

// Apply calls step for every parameter i with its numbers w and its gradient scale·g. The gradient is the mean of p's
// last run and the accumulated ones, scaled down so that its norm over all parameters is at most clip, if clip is not
// 0. Apply returns the norm before clipping, and discards the accumulated gradients. If the norm is not finite, it
// calls no step, and the error, graph.ErrNotFinite, names the first parameter whose gradient has such an entry. If a
// step produces numbers that are not finite, the error names the first such parameter.
func (c *Gradients) Apply(
	p *graph.Program, clip float64, step func(i int, w, g graph.Tensor, scale float64),
) (norm float64, err error) {
	switch {
	case c == nil || len(c.params) == 0:
		return 0, errNoParams
	case step == nil:
		return 0, errors.Errorf("%s: the step is nil", c.name)
	}
	return c.apply(p, clip, func(i int, w, g graph.Tensor, scale float64) bool {
		step(i, w, g, scale)
		return finite(sumSquares(c.pool, w))
	})
}

// apply is like Apply, for a step that reports whether the sum of the squares of its results is finite.
func (c *Gradients) apply(
	p *graph.Program, clip float64, step func(i int, w, g graph.Tensor, scale float64) (finite bool),
) (norm float64, err error) {
	grads := make([]graph.Tensor, len(c.params))
	if c.batches > 0 || c.before != nil || c.machines != nil {
		if c.machines == nil {
			err = c.Accumulate(p)
		} else {
			err = c.arrived(p)
		}
		if err != nil {
			return math.NaN(), err
		}
		if c.before != nil {
			if err := c.show(); err != nil {
				return math.NaN(), err
			}
		}
		copy(grads, c.total())
	}
	scale := 1 / float64(max(1, c.batches))
	if c.batches == 0 {
		for i, x := range c.params {
			if grads[i], err = c.of(p, x); err != nil {
				return 0, err
			}
		}
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
	c.params[0].Graph().Exclusive(func() {
		for i, x := range c.params {
			w, g := x.Tensor(), grads[i]
			if c.own != nil {
				from, to := c.own[i].from, c.own[i].to
				w.F32, g.F32 = w.F32[from:to], g.F32[from:to]
			}
			if !step(i, w, g, scale) && err == nil {
				err = errors.Wrap(w.Finite(x.Name()), "after the update")
			}
		}
		if c.own != nil && err == nil {
			err = c.fetch()
		}
	})
	c.Forget()
	return norm, err
}
