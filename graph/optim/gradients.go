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
	run     int   // micro-batches that are added in turn before sums are paired; 0 is all
	sums    []sum // over micro-batches, of which depth are in use; the others are memory to use again
	depth   int
	batches int // in all sums

	machines int
	across   func(grads []float32) error // adds up theirs; nil is one alone
	before   func(params []graph.Expr, grads []graph.Tensor) error
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
	return &Gradients{name: optimizer, pool: params[0].Graph().Pool(), params: params}, nil
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
	return c.apply(p, clip, func(i int, w, g graph.Tensor, scale float64) (finite bool) {
		step(i, w, g, scale)
		return isFinite(sumSquares(c.pool, w))
	})
}

// apply is Apply for a step that tells whether the squares of what it has made have a finite sum.
func (c *Gradients) apply(
	p *graph.Program, clip float64, step func(i int, w, g graph.Tensor, scale float64) (finite bool),
) (norm float64, err error) {
	grads := make([]graph.Tensor, len(c.params))
	if c.batches > 0 || c.before != nil || c.across != nil {
		if err := c.Accumulate(p); err != nil {
			return 0, err
		}
		if c.across != nil {
			if err := c.gather(); err != nil {
				return math.NaN(), err
			}
		}
		if c.before != nil {
			if err := c.show(); err != nil {
				return math.NaN(), err
			}
		}
		copy(grads, c.total())
	}
	scale := 1 / float64(max(1, c.batches))
	var squares float64
	for i, x := range c.params {
		if c.batches == 0 {
			if grads[i], err = c.of(p, x); err != nil {
				return 0, err
			}
		}
		s := sumSquares(c.pool, grads[i])
		if !isFinite(s) {
			c.Forget()
			return math.NaN(), errors.Wrapf(graph.ErrNotFinite, "the gradient of %s", x.Name())
		}
		squares += s
	}
	norm = scale * math.Sqrt(squares)
	if clip > 0 && norm > clip {
		scale *= clip / norm
	}
	c.params[0].Graph().Exclusive(func() {
		for i, x := range c.params {
			w := x.Tensor()
			if !step(i, w, grads[i], scale) && err == nil {
				err = errors.Wrap(w.Finite(x.Name()), "after the update")
			}
		}
	})
	c.Forget()
	return norm, err
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func sumSquares(p *kernel.Pool, t graph.Tensor) float64 {
	if t.F32 != nil {
		return kernel.SumSquares(p, t.F32)
	}
	return kernel.SumSquares(p, t.F64)
}
