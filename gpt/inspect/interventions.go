package inspect

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Zero returns an intervention that replaces the entries with 0: ablation.
func (e Entries) Zero() func(x graph.Expr) graph.Expr {
	return e.with(func([]int) (float64, []float64, error) { return 0, []float64{0}, nil })
}

// Set returns an intervention that replaces the entries with another run's: activation patching (Vig et al. 2020). The
// tensor must have the shape of a full context.
func (e Entries) Set(t graph.Tensor) func(x graph.Expr) graph.Expr {
	return e.with(func(shape []int) (float64, []float64, error) {
		one := append([]int{1}, shape[1:]...) // of one sequence
		if len(shape) == 2 {
			one[0] = e.context
		}
		if got := t.Shape; t.Len() != product(got) || !slices.Equal(got, one) && !slices.Equal(got, shape) {
			return 0, nil, errors.Errorf("set: got %d numbers of shape %v, want %v", t.Len(), got, one)
		}
		return 0, t.Floats(), nil
	})
}

// Mean returns an intervention that replaces the entries with the mean over the tokens of e in another run: mean
// ablation. The tensor must be a matrix for a full context.
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

// Add returns an intervention that adds a direction, which has one number for each feature, to the entries: steering
// (Turner et al. 2023).
func (e Entries) Add(direction []float64) func(x graph.Expr) graph.Expr {
	return e.with(func(shape []int) (float64, []float64, error) {
		if width := shape[len(shape)-1]; len(direction) != width {
			return 0, nil, errors.Errorf("add: got a direction of %d numbers, want %d", len(direction), width)
		}
		return 1, direction, nil
	})
}

// with returns a function that computes scale·x + shift in the entries, and x in the others.
func (e Entries) with(of func(shape []int) (scale float64, shift []float64, err error)) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		shape := x.Shape()
		at, step := x.Graph().Rows()
		if step && len(shape) == 2 { // x has some rows of one full context
			shape = []int{e.context, shape[1]}
		}
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
		if step {
			return x.MulAddAt(at, scales, shifts)
		}
		return x.MulAdd(scales, shifts)
	}
}
