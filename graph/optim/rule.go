package optim

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
)

// Rule is the equation by which an optimizer updates a parameter. New applies it to all parameters.
type Rule interface {
	// State returns what the rule needs to know of a parameter between steps, or an error if one of its settings is
	// out of range.
	State() (State, error)

	// Step updates the entries s.W, the moments s.M and s.V, and the tensors s.Further. Several pieces are updated at
	// the same time.
	Step(s Step)
}

// State describes a Rule.
type State struct {
	Name    string // for errors
	Moments int    // number of tensors of the parameter's shape that are kept for it: none, m, or m and v
	Whole   bool   // Step needs entire parameters, one after the other; otherwise it gets pieces of them

	// Further, which is optional, returns the tensors of other shapes that are kept for a parameter in addition to the
	// moments. columns is Step.Columns. They need Whole.
	Further func(shape, columns []int) []Kept

	// Products, which is optional, returns the number of operations of the matrix products in a step for a parameter,
	// of which a product that is known to be symmetric takes half. A rule for single entries has none.
	Products func(shape, columns []int) float64

	matrix bool // Step needs parameters with two axes, several at the same time
}

// Kept is a tensor that a Rule keeps for a parameter. It starts with zeros.
type Kept struct {
	Name  string // letters and digits; in a checkpoint, a dot and the parameter's name follow
	Shape []int
}

// Kept returns all tensors that are kept for a parameter of the given shape, which consists of matrices of the widths
// in columns if there are several: the moments m and v, and the further ones.
func (s State) Kept(shape, columns []int) (list []Kept, err error) {
	for _, name := range []string{"m", "v"}[:min(2, max(0, s.Moments))] {
		list = append(list, Kept{name, shape})
	}
	if s.Further == nil {
		return list, nil
	}
	known := map[string]bool{"m": true, "v": true, "e": true} // e holds averages of weights in checkpoints
	for _, k := range s.Further(slices.Clone(shape), slices.Clone(columns)) {
		if strings.Trim(k.Name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || k.Name == "" || known[k.Name] {
			return nil, errors.Errorf("further tensors: got the name %q, want lower-case letters and digits, "+
				"other than m, v, e and those before", k.Name)
		}
		if len(k.Shape) == 0 || slices.Min(k.Shape) < 1 {
			return nil, errors.Errorf("further tensors: %s: got shape %v, want sizes above 0", k.Name, k.Shape)
		}
		known[k.Name] = true
		list = append(list, k)
	}
	return list, nil
}

// divide returns the moments m and v, each empty if the rule does not use it, and the further tensors, of all that are
// kept.
func (s State) divide(all []graph.Tensor) (m, v graph.Tensor, further []graph.Tensor) {
	if s.Moments > 0 {
		m = all[0]
	}
	if s.Moments > 1 {
		v = all[1]
	}
	return m, v, all[s.Moments:]
}

// Step is step T of a parameter, or of a piece of it: W is updated by its gradient g = Scale·G. Of a piece, Shape is
// the shape of the entire parameter.
type Step struct {
	Name  string // the parameter's
	T     int    // counted from 1
	Rate  float64
	Decay float64 // 0 for vectors: gains and biases do not decay
	Scale float64
	W, G  graph.Tensor
	M, V  graph.Tensor // empty if the Rule does not use them

	// Further holds the tensors of State.Further, in its order. They and W are empty if another machine updates the
	// parameter.
	Further []graph.Tensor

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
