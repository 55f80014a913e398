package optim

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Gradients collects the gradients of micro-batches, takes their mean and clips it: what all optimizers begin with.
type Gradients struct {
	name    string // of the optimizer, for errors
	pool    *kernel.Pool
	params  []graph.Expr
	index   map[string]int // of them, by name
	places  []int          // of them in a flat sum, in which each begins with a line of the cache
	size    int            // of that
	run     int            // micro-batches that are added in turn before sums are paired; 0 is all
	sums    []sum          // over micro-batches, of which depth are in use; the others are memory to use again
	depth   int
	batches int // in all sums

	before func(params []graph.Expr, grads []graph.Tensor) error

	machines     Machines // nil is one alone, and so is the rest
	buckets      []bucket
	own          []stretch // this machine's part of every parameter; nil is all
	flight, left *flight   // this step's, and one of a step that was given up
}

// NewGradients is for parameters of one graph, each once: a value that is fed, or what an operation gives, is refused.
// The optimizer's name is for errors.
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
			return nil, errors.Errorf("%s: %s and %s are of different graphs", optimizer, params[0].Name(), p.Name())
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

var errNoParams = errors.New("an optimizer without parameters: NewGradients takes them")

// Apply calls step for every parameter i with its numbers w and its gradient scale·g: the mean of p's last run and of
// what was accumulated before, scaled down so that its norm over all parameters is at most clip, if clip is not 0. It
// returns the norm before that, and forgets what was accumulated. If the norm is not finite it calls nothing, and the
// error, graph.ErrNotFinite, names the first parameter whose gradient has such an entry; if a step makes numbers that
// are not finite, it names the first such parameter.
func (c *Gradients) Apply(
	p *graph.Program, clip float64, step func(i int, w, g graph.Tensor, scale float64),
) (norm float64, err error) {
	switch {
	case c == nil || len(c.params) == 0:
		return 0, errNoParams
	case step == nil:
		return 0, errors.Errorf("%s: no step to do", c.name)
	}
	return c.apply(p, clip, func(i int, w, g graph.Tensor, scale float64) bool {
		step(i, w, g, scale)
		return finite(sumSquares(c.pool, w))
	})
}

// apply is Apply for a step that tells whether the squares of what it has made have a finite sum.
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

// sumSquares is Σ g² of all gradients, in their order.
func (c *Gradients) sumSquares(grads []graph.Tensor) (squares float64, err error) {
	for i, x := range c.params {
		s := sumSquares(c.pool, grads[i])
		if err := finiteSum(x, s); err != nil {
			return 0, err
		}
		squares += s
	}
	return squares, nil
}

// finiteSum is an error if the sum of the squares of a parameter's gradient is none.
func finiteSum(x graph.Expr, sum float64) error {
	if !finite(sum) {
		return errors.Wrapf(graph.ErrNotFinite, "the gradient of %s", x.Name())
	}
	return nil
}

func sumSquares(p *kernel.Pool, t graph.Tensor) float64 {
	if t.F32 != nil {
		return kernel.SumSquares(p, t.F32)
	}
	return kernel.SumSquares(p, t.F64)
}
