package inspect

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Entries are those numbers of an activation that an intervention changes; it leaves the others as they are, to the
// bit. Its methods give functions for Replace.
type Entries struct {
	context, heads int // T, H
	head           int // −1 is all
	from, to       int // tokens of every sequence
}

// All are the entries of any activation of a model.
func All(m *gpt.Model) Entries {
	if m == nil {
		return Entries{}
	}
	return Entries{m.Config.BlockSize, m.Config.NHead, -1, 0, m.Config.BlockSize}
}

// Head is what of e belongs to a head, from 0, of q, k, v, scores, weights or heads: in a matrix it is an H-th of the
// columns.
func (e Entries) Head(h int) Entries {
	e.head = h
	if h < 0 {
		e.head = e.heads // refused when it is used
	}
	return e
}

// Tokens is what of e belongs to the tokens from … to−1 of every sequence, as queries where these meet keys.
func (e Entries) Tokens(from, to int) Entries { e.from, e.to = from, to; return e }

// Zero puts 0 in their place: ablation.
func (e Entries) Zero() func(x graph.Expr) graph.Expr {
	return e.with(func([]int) (float64, []float64, error) { return 0, []float64{0}, nil })
}

// Set puts what another run has there in their place: activation patching (Vig et al. 2020). The tensor is one of a
// whole context.
func (e Entries) Set(t graph.Tensor) func(x graph.Expr) graph.Expr {
	return e.with(func(shape []int) (float64, []float64, error) {
		one := slices.Clone(shape) // of one sequence
		if len(shape) == 2 {
			one[0] = e.context
		} else {
			one[0] = 1
		}
		if got := t.Shape; t.Len() != product(got) || !slices.Equal(got, one) && !slices.Equal(got, shape) {
			return 0, nil, errors.Errorf("set: got %d numbers of shape %v, want %v", t.Len(), got, one)
		}
		return 0, t.Floats(), nil
	})
}

// Mean puts the mean over the tokens of e of what another run has there in their place: mean ablation. The tensor is a
// matrix of a whole context.
func (e Entries) Mean(t graph.Tensor) func(x graph.Expr) graph.Expr {
	return e.with(func(shape []int) (float64, []float64, error) {
		if len(shape) != 2 || !slices.Equal(t.Shape, []int{e.context, shape[1]}) || t.Len() != product(t.Shape) {
			return 0, nil, errors.Errorf("mean: got %d numbers of shape %v for %v, want a matrix with %d rows",
				t.Len(), t.Shape, shape, e.context)
		}
		mean := make([]float64, shape[1])
		for i := e.from; i < e.to; i++ {
			for j := range mean {
				mean[j] += t.At(i*len(mean)+j) / float64(e.to-e.from)
			}
		}
		return 0, mean, nil
	})
}

// Add adds a direction, a number for each feature, to them: steering (Turner et al. 2023).
func (e Entries) Add(direction []float64) func(x graph.Expr) graph.Expr {
	return e.with(func(shape []int) (float64, []float64, error) {
		if width := shape[len(shape)-1]; len(direction) != width {
			return 0, nil, errors.Errorf("add: got a direction of %d numbers, want %d", len(direction), width)
		}
		return 1, direction, nil
	})
}

// with is scale·x + shift in the entries, and x in the others.
func (e Entries) with(of func(shape []int) (scale float64, shift []float64, err error)) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		shape := x.Shape()
		if err := e.check(shape); err != nil {
			return x.Wrap(nil, err)
		}
		scale, shift, err := of(shape)
		if err != nil {
			return x.Wrap(nil, err)
		}
		scales, shifts := slices.Repeat([]float64{1}, product(shape)), make([]float64, product(shape))
		for i := range scales {
			if e.has(shape, i) {
				scales[i], shifts[i] = scale, shift[i%len(shift)]
			}
		}
		return x.MulAdd(scales, shifts)
	}
}

// check is an error if the shape has no such entries.
func (e Entries) check(shape []int) error {
	switch n := len(shape); {
	case e.context < 1 || n != 2 && n != 4:
		return errors.Errorf("entries: got shape %v, want a matrix, or sequences, heads, tokens and features, of a model", shape)
	case e.from < 0 || e.from >= e.to || e.to > e.context:
		return errors.Errorf("tokens: got %d to %d, want some of 0 to %d", e.from, e.to, e.context)
	case e.head >= e.heads:
		return errors.Errorf("head: got %d, want one of 0 … %d", e.head, e.heads-1)
	case n == 4 && (shape[1] != e.heads || shape[2] != e.context) && e != (Entries{e.context, e.heads, -1, 0, e.context}):
		return errors.Errorf("entries: got shape %v, want %d heads and %d tokens to select from", shape, e.heads, e.context)
	case n == 2 && e.head >= 0 && shape[1]%e.heads != 0:
		return errors.Errorf("head: got %d columns, which %d heads do not divide", shape[1], e.heads)
	}
	return nil
}

// has says whether entry i is one of them.
func (e Entries) has(shape []int, i int) bool {
	width := shape[len(shape)-1]
	token, head := i/width, 0
	if len(shape) == 2 {
		token, head = token%e.context, i%width/max(1, width/e.heads)
	} else {
		token, head = token%shape[2], token/shape[2]%shape[1]
	}
	whole := e.from == 0 && e.to == e.context
	return (whole || e.from <= token && token < e.to) && (e.head < 0 || head == e.head)
}

func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}
