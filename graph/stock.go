package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockOp is one of Gorgonia's own operations in a program. Its result goes to planned memory, like a kernel's. A
// result of another type, such as the truth values of a comparison, is kept as Gorgonia returns it.
type stockOp struct {
	op     G.Op
	args   []G.Value
	before []func()      // functions that fill the args that change from run to run
	shape  tensor.Shape  // shape of the result
	out    *tensor.Dense // uses the planned memory; nil for a scalar
	to     plan.Numbers  // the planned memory
	kept   *G.Value      // where a result of another type goes
}

// run computes the result. Do returns new memory or that of an operand, so its result is copied. Operations that can
// write to a given tensor avoid the copy; the reference form of a model consists mostly of these.
func (s *stockOp) run() error {
	for _, fill := range s.before {
		fill()
	}
	v, err := s.do()
	switch {
	case err != nil:
		return errors.Cause(err)
	case s.kept != nil:
		*s.kept = v
		return nil
	}
	return s.store(v)
}

func (s *stockOp) do() (G.Value, error) {
	if s.out != nil {
		switch op := s.op.(type) {
		case G.UsePreallocDoer: // Gorgonia uses it for arithmetic of two operands, and if CallsExtern is true
			if _, ok := s.op.(G.BinaryOp); !ok {
				if !s.op.CallsExtern() {
					break
				}
				clear(s.to.F32)
				clear(s.to.F64)
			}
			if v, err := op.UsePreallocDo(s.out, s.args...); err == nil {
				return v, nil
			}
		case G.UnsafeDoer: // a function of one tensor, entry by entry
			x, ok := s.args[0].(*tensor.Dense)
			if ok && s.op.OverwritesInput() == 0 && x.Shape().TotalSize() == s.shape.TotalSize() {
				copyNumbers(s.to, numbersOf(x))
				return op.UnsafeDo(append([]G.Value{s.out}, s.args[1:]...)...)
			}
		}
	}
	return s.op.Do(s.args...)
}

// store copies a result to the planned memory, unless it is already there. The result may be a view of an operand, with
// its axes in another order.
func (s *stockOp) store(v G.Value) error {
	if v == nil {
		return errors.New("it returns nothing")
	}
	if d, ok := v.(*tensor.Dense); ok && d.RequiresIterator() {
		v = d.Materialize()
	}
	if d, ok := v.(*tensor.Dense); ok && d.DataOrder().IsColMajor() {
		return errors.Errorf("it returns shape %v in column-major order", d.Shape())
	}
	from := numbersOf(v)
	if from.Len() != s.to.Len() { // only the size matters: rows of one entry come as ()
		return errors.Errorf("it returns %d entries, but announced shape %v", from.Len(), s.shape)
	}
	copyNumbers(s.to, from)
	return nil
}

func copyNumbers(to, from plan.Numbers) {
	copy(to.F32, from.F32)
	copy(to.F64, from.F64)
}

func numbersOf(v G.Value) plan.Numbers {
	t := view(v)
	return plan.Numbers{F32: t.F32, F64: t.F64}
}

// valueIn returns the Gorgonia value whose numbers are n.
func valueIn(n plan.Numbers, shape tensor.Shape) *tensor.Dense {
	if n.F32 != nil {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(n.F32))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(n.F64))
}

// pure reports whether an operation of Gorgonia v0.9.18 is certainly a function of its inputs, so that it may run
// twice. This holds for an operation that may overwrite an input, and for arithmetic of two operands. Others may draw
// random numbers or count their runs.
func pure(op G.Op) bool {
	_, binary := op.(G.BinaryOp)
	return binary || op.OverwritesInput() >= 0
}

// describeOp returns the name that errors use for the operation of a node.
func describeOp(scope string, at source, op G.Op) string {
	if at.op == "" || at.op == wrapped {
		return prefix(scope) + fmt.Sprint(op)
	}
	return prefix(scope) + at.op
}
