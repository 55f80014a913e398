package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// CumSum returns the sums of the rows of x so far, in each sequence of length rows: y_t = x_1 + … + x_t.
func (x Expr) CumSum(length int) Expr { // (B·T, d) → (B·T, d)
	return x.sequences("cumsum", length, cumSum[float32](), cumSum[float64]())
}

// CumProd returns the products of the rows of x so far, in each sequence of length rows: y_t = x_1∘…∘x_t. With no
// division, its gradient is right also where x is 0: ∂x_t = y_{t−1}∘s_t, s_t = ∂y_t + x_{t+1}∘s_{t+1}.
func (x Expr) CumProd(length int) Expr { // (B·T, d) → (B·T, d)
	return x.sequences("cumprod", length, cumProd[float32](), cumProd[float64]())
}

// Delay returns the rows of x moved to later tokens by steps rows, in each sequence of length rows: y_t = x_{t−steps},
// and 0 for the first steps tokens.
func (x Expr) Delay(steps, length int) Expr { // (B·T, d) → (B·T, d)
	if steps < 0 || steps > length {
		return x.apply("delay", func() (*G.Node, error) {
			return nil, errors.Errorf("got %d steps, want 0 to the length of a sequence, %d", steps, length)
		})
	}
	return x.sequences("delay", length, delay[float32](steps), delay[float64](steps))
}

// Advance returns ids moved to earlier tokens by steps places, in each sequence of length ids: y_t = x_{t+steps}. The
// last steps tokens have the ignored id, which x must have been declared with. The result is for OneHot and losses. It
// has no derivative; after a run Ints returns it.
func (ids Expr) Advance(steps, length int) Expr { // (B·T) → (B·T)
	return ids.computed("advance", func(list []int) (*G.Node, idRange, error) {
		switch {
		case ids.ids == nil:
			return nil, idRange{}, errors.New("want integers declared by Ints")
		case ids.ids.ignore == NoneIgnored:
			return nil, idRange{}, errors.New("got ids of which none may be ignored, as the last of a sequence are")
		case length < 1 || ids.count()%length != 0:
			err := errors.Errorf("got %d ids in sequences of %d, want entire sequences", ids.count(), length)
			return nil, idRange{}, err
		case steps < 0 || steps > length:
			err := errors.Errorf("got %d steps, want 0 to the length of a sequence, %d", steps, length)
			return nil, idRange{}, err
		}
		from, ignore := ids.Ints(), ids.ids.ignore
		node, err := ids.g.ops.Ints("advance", list, func() {
			for i := range list {
				if list[i] = ignore; i%length+steps < length {
					list[i] = from[i+steps]
				}
			}
		}, ids.node)
		return node, idRange{limit: ids.ids.limit, ignore: ignore, computed: true}, err
	})
}

// Scan returns the linear recurrence y_t = a_t∘y_{t−1} + x_t, with y_0 = 0, in each sequence of length rows. Its
// gradients are ∂x_t = ∂y_t + a_{t+1}∘∂x_{t+1} and ∂a_t = ∂x_t∘y_{t−1}.
func (x Expr) Scan(a Expr, length int) Expr { // (B·T, d), (B·T, d) → (B·T, d)
	return x.sequences("scan", length, scan[float32](), scan[float64](), a)
}

// sequences is a pass over the tokens of every sequence, given the numbers of tokens and features.
type sequences[T float32 | float64] struct {
	forward  func(y []T, x [][]T, length, d int)
	backward func(dx [][]T, dy, y []T, x [][]T, length, d int)
}

func (x Expr) sequences(
	name string, length int, f32 sequences[float32], f64 sequences[float64], more ...Expr,
) Expr {
	return x.apply(name, func() (*G.Node, error) {
		list := append(G.Nodes{x.node}, nodes(more...)...)
		s := x.node.Shape()
		if len(s) != 2 || length < 1 || s[0]%length != 0 {
			return nil, errors.Errorf("got %v in sequences of %d rows, want a matrix of entire sequences", s, length)
		}
		for _, n := range list {
			if !n.Shape().Eq(s) || n.Dtype() != x.g.ops.Dtype {
				return nil, errors.Errorf("got %v of %v, want numbers of shape %v", n.Shape(), n.Dtype(), s)
			}
		}
		own := ops.Own{
			Name: name, Shape: s, F32: f32.each(length, s[1]), F64: f64.each(length, s[1]), Part: length * s[1],
		}
		return x.g.ops.Apply(own, list)
	}, more...)
}

// each applies the pass to one sequence after the other.
func (s sequences[T]) each(length, d int) ops.OwnPass[T] {
	of := func(list [][]T, i int) (part [][]T) {
		for _, l := range list {
			part = append(part, l[i:i+length*d])
		}
		return part
	}
	return ops.OwnPass[T]{
		Forward: func(y []T, x [][]T) {
			for i := 0; i < len(y); i += length * d {
				s.forward(y[i:i+length*d], of(x, i), length, d)
			}
		},
		Backward: func(dx [][]T, dy, y []T, x [][]T) {
			for i := 0; i < len(y); i += length * d {
				s.backward(of(dx, i), dy[i:i+length*d], y[i:i+length*d], of(x, i), length, d)
			}
		},
	}
}

func cumSum[T float32 | float64]() sequences[T] {
	return sequences[T]{
		func(y []T, x [][]T, _, d int) {
			for i, v := range x[0] {
				if y[i] = v; i >= d {
					y[i] += y[i-d]
				}
			}
		},
		func(dx [][]T, dy, _ []T, _ [][]T, _, d int) {
			for i := len(dy) - 1; i >= 0; i-- {
				if dx[0][i] = dy[i]; i+d < len(dy) {
					dx[0][i] += dx[0][i+d]
				}
			}
		},
	}
}

func cumProd[T float32 | float64]() sequences[T] {
	return sequences[T]{
		func(y []T, x [][]T, _, d int) {
			for i, v := range x[0] {
				if y[i] = v; i >= d {
					y[i] *= y[i-d]
				}
			}
		},
		func(dx [][]T, dy, y []T, x [][]T, _, d int) {
			for i := len(dy) - 1; i >= 0; i-- { // s
				if dx[0][i] = dy[i]; i+d < len(dy) {
					dx[0][i] += T(x[0][i+d] * dx[0][i+d])
				}
			}
			for i := d; i < len(dy); i++ {
				dx[0][i] *= y[i-d]
			}
		},
	}
}

func delay[T float32 | float64](steps int) sequences[T] {
	return sequences[T]{
		func(y []T, x [][]T, _, d int) { copy(y[steps*d:], x[0]) },
		func(dx [][]T, dy, _ []T, _ [][]T, _, d int) { copy(dx[0], dy[steps*d:]) },
	}
}

func scan[T float32 | float64]() sequences[T] {
	return sequences[T]{
		func(y []T, x [][]T, _, d int) {
			for i, v := range x[0] {
				if y[i] = v; i >= d {
					y[i] += T(x[1][i] * y[i-d])
				}
			}
		},
		func(dx [][]T, dy, y []T, x [][]T, _, d int) {
			for i := len(dy) - 1; i >= 0; i-- {
				if dx[0][i] = dy[i]; i+d < len(dy) {
					dx[0][i] += T(x[1][i+d] * dx[0][i+d])
				}
				if i >= d {
					dx[1][i] = dx[0][i] * y[i-d]
				}
			}
		},
	}
}
