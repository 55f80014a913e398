package graph

import (
	"math"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// AddInts returns the sums of two lists of as many integers: (n), (n) → (n). As the results of ScaleInts, ModInts and
// DelayInts, they are exact, have no derivative, and are for Gather, OneHot and losses; after a run Ints returns them.
// It is an error if a sum could overflow, and a run fails on an ignored id.
func (ids Expr) AddInts(y Expr) Expr {
	return ids.arithmetic("add integers", func(list []int) (func(), int, error) {
		switch {
		case y.ids == nil:
			return nil, 0, errors.New("want integers declared by Ints")
		case ids.count() != y.count():
			return nil, 0, errors.Errorf("got %d and %d integers, want as many", ids.count(), y.count())
		case ids.ids.limit > math.MaxInt-y.ids.limit:
			return nil, 0, errors.Errorf("the sum of ids up to %d and %d overflows", ids.ids.limit-1, y.ids.limit-1)
		}
		y.neverIgnored()
		a, b := ids.Ints(), y.Ints()
		return func() {
			for i := range list {
				list[i] = a[i] + b[i]
			}
		}, ids.ids.limit + y.ids.limit - 1, nil
	}, y)
}

// ScaleInts returns c times the integers, for c from 0 on. It is an error if a product could overflow.
func (ids Expr) ScaleInts(c int) Expr {
	return ids.arithmetic("scale integers", func(list []int) (func(), int, error) {
		largest := max(0, ids.ids.limit-1)
		if c < 0 || largest > 0 && c > (math.MaxInt-1)/largest {
			return nil, 0, errors.Errorf("got a factor of %d, want 0 to %d for ids up to %d",
				c, (math.MaxInt-1)/max(1, largest), largest)
		}
		return each(ids, list, func(id int) int { return c * id }), c*largest + 1, nil
	})
}

// ModInts returns the remainders of the integers after a division by m, which lie in 0 … m−1.
func (ids Expr) ModInts(m int) Expr {
	return ids.arithmetic("modulo", func(list []int) (func(), int, error) {
		if m < 1 {
			return nil, 0, errors.Errorf("got %d, want a divisor of at least 1", m)
		}
		return each(ids, list, func(id int) int { return id % m }), m, nil
	})
}

// each returns a function that writes f of every id to list.
func each(ids Expr, list []int, f func(id int) int) func() {
	from := ids.Ints()
	return func() {
		for i, id := range from {
			list[i] = f(id)
		}
	}
}

// DelayInts returns the integers moved to later tokens by steps, in each sequence of length integers:
// y_t = x_{t−steps}, and fill for the first steps tokens.
func (ids Expr) DelayInts(steps, length, fill int) Expr { // (B·T) → (B·T)
	return ids.arithmetic("delay integers", func(list []int) (func(), int, error) {
		switch {
		case length < 1 || ids.count()%length != 0:
			return nil, 0, errors.Errorf("got %d ids in sequences of %d, want entire sequences", ids.count(), length)
		case steps < 0 || steps > length:
			return nil, 0, errors.Errorf("got %d steps, want 0 to the length of a sequence, %d", steps, length)
		}
		from := ids.Ints()
		return func() {
			for i := range list {
				if list[i] = fill; i%length >= steps {
					list[i] = from[i-steps]
				}
			}
		}, ids.filled(fill), checkFill(fill)
	})
}

func (ids Expr) filled(fill int) (limit int) { return max(ids.ids.limit, fill+1) }

// checkFill returns an error unless fill is an id.
func checkFill(fill int) error {
	if fill < 0 || fill == math.MaxInt {
		return errors.Errorf("got %d for the tokens before the first, want 0 to %d", fill, math.MaxInt-1)
	}
	return nil
}

// arithmetic returns integers below a limit that a function writes to list in every run.
func (ids Expr) arithmetic(
	op string, make func(list []int) (compute func(), limit int, err error), others ...Expr,
) Expr {
	return ids.computed(op, func(list []int) (*G.Node, idRange, error) {
		if ids.ids == nil {
			return nil, idRange{}, errors.New("want integers declared by Ints")
		}
		ids.neverIgnored()
		compute, limit, err := make(list)
		if err != nil {
			return nil, idRange{}, err
		}
		node, err := ids.g.ops.Ints(op, list, compute, append(G.Nodes{ids.node}, nodes(others...)...)...)
		return node, idRange{limit: limit, ignore: NoneIgnored, computed: true}, err
	}, others...)
}
