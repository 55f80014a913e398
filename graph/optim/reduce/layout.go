package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// layout is the list of parameters and their places in a flat sum.
type layout struct {
	name   string // the optimizer's name, for errors
	pool   *kernel.Pool
	params []graph.Expr
	index  map[string]int // name → index in params
	places []int          // start of each parameter in a flat sum, aligned to cache lines
	size   int            // numbers in the flat sum
}

// newLayout returns the layout of parameters in their order. It returns an error for a value, for the result of an
// operation, and for a parameter listed twice.
func newLayout(optimizer string, params []graph.Expr) (l layout, err error) {
	if len(params) == 0 {
		return l, errors.Errorf("%s: no parameters", optimizer)
	}
	g := params[0].Graph()
	left := map[string]bool{}
	for _, p := range g.Params() {
		left[p.Name()] = true
	}
	for _, p := range params {
		switch {
		case p.Tensor().Len() == 0:
			return l, errors.Errorf("%s: a parameter is empty", optimizer)
		case p.Graph() != g:
			return l, errors.Errorf("%s: %s and %s belong to different graphs", optimizer, params[0].Name(), p.Name())
		case !left[p.Name()]:
			return l, errors.Errorf("%s: %s is a value, not a parameter, or listed twice", optimizer, p.Name())
		}
		delete(left, p.Name())
	}
	l = layout{name: optimizer, pool: g.Pool(), params: params, index: map[string]int{}}
	for i, p := range params {
		l.index[p.Name()] = i
		l.places = append(l.places, l.size)
		l.size += lines(p.Tensor().Len())
	}
	return l, nil
}

// of returns the gradient of a parameter from the last run of p.
func (l *layout) of(p *graph.Program, x graph.Expr) (graph.Tensor, error) {
	g := p.Grad(x)
	if want := x.Tensor().Len(); g.Len() != want {
		return g, errors.Errorf(
			"%s: %s has %d entries, but its gradient has %d: was the program compiled with it, and run?",
			l.name, x.Name(), want, g.Len())
	}
	return g, nil
}
