package optim

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// Rule is the equation by which an optimizer updates a parameter. New applies it to all parameters.
type Rule interface {
	// State returns what the rule needs to know of a parameter between steps, or an error if one of its settings is
	// out of range.
	State() (State, error)

	// Step updates the entries s.W and the moments s.M and s.V. Several pieces are updated at the same time.
	Step(s Step)
}

// State describes a Rule.
type State struct {
	Name    string // for errors
	Moments int    // number of tensors kept for every parameter: none, m, or m and v
	Whole   bool   // Step needs entire parameters, one after the other; otherwise it gets pieces of them

	matrix bool // Step needs parameters with two axes, several at the same time
}

// Step is step T of a parameter, or of a piece of it: W is updated by its gradient g = Scale·G. Of a piece, Shape is
// that of the entire parameter.
type Step struct {
	Name  string // the parameter's
	T     int    // counted from 1
	Rate  float64
	Decay float64 // 0 for vectors: gains and biases do not decay
	Scale float64
	W, G  graph.Tensor
	M, V  graph.Tensor // empty if the Rule does not use them

	// Columns holds the widths of the matrices that W consists of, side by side, if there are several.
	Columns []int

	work *workspace // optional
}

// workspace is memory that a thread uses for every Step of an entire matrix.
type workspace struct {
	f32 []float32
	f64 []float64
}

// room returns n numbers, which hold anything, until the next call.
func room[T kernel.Float](s Step, n int) []T {
	w := s.work
	if w == nil {
		return make([]T, n)
	}
	kept, _ := any(&w.f32).(*[]T)
	if kept == nil {
		kept = any(&w.f64).(*[]T)
	}
	if len(*kept) < n {
		*kept = kernel.Make[T](n)
	}
	return (*kept)[:n]
}

// piece returns the step of the entries from the first index to before the second.
func (s Step) piece(from, to int) Step {
	s.W, s.G, s.M, s.V = cut(s.W, from, to), cut(s.G, from, to), cut(s.M, from, to), cut(s.V, from, to)
	return s
}

// cut returns a range of entries of a tensor, or an empty tensor of an empty one.
func cut(t graph.Tensor, from, to int) graph.Tensor {
	if t.F32 != nil {
		t.F32 = t.F32[from:to]
	}
	if t.F64 != nil {
		t.F64 = t.F64[from:to]
	}
	return t
}
