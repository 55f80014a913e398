package graph

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockOp is an operation of Gorgonia's own in a turn of a program: its result goes to planned memory, as a kernel's
// does. A result of another type, such as the truth values of a comparison, is kept as Gorgonia returns it.
type stockOp struct {
	op     G.Op
	args   []G.Value
	before []func()      // fill args that change from run to run
	shape  tensor.Shape  // of the result
	out    *tensor.Dense // over the planned memory; nil of a scalar
	to     plan.Numbers  // the planned memory
	kept   *G.Value      // where a result of another type goes
}

// run computes the result. Do returns new memory, or that of an operand, so its result is copied. Operations that can
// write into given memory spare that; the reference form of a model consists of little else.
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
		case G.UsePreallocDoer: // Gorgonia uses it for arithmetic of two operands, and for what calls extern
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

// store brings a result to the planned memory, where it is not there yet. It may be a view: of an operand, with its
// axes in another order.
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
	if from.Len() != s.to.Len() { // of the shape itself no more is asked: rows of one entry come as ()
		return errors.Errorf("it returns %d entries, shape %v was announced", from.Len(), s.shape)
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

// pure reports whether an operation of Gorgonia v0.9.18 is a function of its inputs for certain, so that it may run
// twice: one that may overwrite an input is, and the arithmetic of two operands. Others may draw random numbers or
// count their runs.
func pure(op G.Op) bool {
	_, binary := op.(G.BinaryOp)
	return binary || op.OverwritesInput() >= 0
}

// describeOp is how errors name what computes a node.
func describeOp(scope string, at source, op G.Op) string {
	if at.op == "" || at.op == wrapped {
		return prefix(scope) + fmt.Sprint(op)
	}
	return prefix(scope) + at.op
}
