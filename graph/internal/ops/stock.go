package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Stock is one of Gorgonia's own operations in a program. Its result goes to planned memory, like a kernel's. A
// result of another type, such as the truth values of a comparison, is kept as Gorgonia returns it.
type Stock struct {
	op     G.Op
	args   []G.Value
	before []func()      // functions that fill the args that change from run to run
	shape  tensor.Shape  // shape of the result
	out    *tensor.Dense // uses the planned memory; nil for a scalar
	to     plan.Numbers  // the planned memory
	kept   *G.Value      // where a result of another type goes
}

// NewStock returns the operation of n with the given number of arguments. Its result goes to the planned memory, or to
// kept if that is not nil.
func NewStock(n *G.Node, arguments int, to plan.Numbers, kept *G.Value) *Stock {
	s := &Stock{op: n.Op(), args: make([]G.Value, arguments), shape: n.Shape(), to: to, kept: kept}
	if kept == nil && !n.IsScalar() {
		s.out = valueIn(to, s.shape)
	}
	return s
}

// Fetch makes every run call value for argument i.
func (s *Stock) Fetch(i int, value func() G.Value) {
	s.before = append(s.before, func() { s.args[i] = value() })
}

// Bind makes argument i the planned numbers of the node c. No other operation shares its header, because a product
// transposes its operand's axes while it runs.
func (s *Stock) Bind(i int, c *G.Node, numbers plan.Numbers) {
	switch {
	case !c.IsScalar():
		s.args[i] = valueIn(numbers, c.Shape())
	case numbers.F32 != nil:
		v := new(G.F32)
		s.args[i] = v
		s.before = append(s.before, func() { *v = G.F32(numbers.F32[0]) })
	case numbers.F64 != nil:
		v := new(G.F64)
		s.args[i] = v
		s.before = append(s.before, func() { *v = G.F64(numbers.F64[0]) })
	}
}

// Run computes the result. Do returns new memory or an operand's, so its result is copied. Operations that can
// write to a given tensor avoid the copy; the reference form of a model consists mostly of these.
func (s *Stock) Run() error {
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

func (s *Stock) do() (G.Value, error) {
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
				copyNumbers(s.to, NumbersOf(x))
				return op.UnsafeDo(append([]G.Value{s.out}, s.args[1:]...)...)
			}
		}
	}
	return s.op.Do(s.args...)
}

// store copies a result to the planned memory, unless it is already there. The result may be a view of an operand, with
// its axes in another order.
func (s *Stock) store(v G.Value) error {
	if v == nil {
		return errors.New("it returns nothing")
	}
	if d, ok := v.(*tensor.Dense); ok && d.RequiresIterator() {
		v = d.Materialize()
	}
	if d, ok := v.(*tensor.Dense); ok && d.DataOrder().IsColMajor() {
		return errors.Errorf("it returns shape %v in column-major order", d.Shape())
	}
	from := NumbersOf(v)
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

// NumbersOf returns the numbers of a Gorgonia value, empty for a value of another type.
func NumbersOf(v G.Value) plan.Numbers {
	switch v := v.(type) {
	case *tensor.Dense:
		switch v.Dtype() {
		case tensor.Float32:
			return plan.Numbers{F32: v.Float32s()}
		case tensor.Float64:
			return plan.Numbers{F64: v.Float64s()}
		}
	case *G.F32:
		return plan.Numbers{F32: []float32{float32(*v)}}
	case *G.F64:
		return plan.Numbers{F64: []float64{float64(*v)}}
	}
	return plan.Numbers{}
}

// valueIn returns the Gorgonia value whose numbers are n.
func valueIn(n plan.Numbers, shape tensor.Shape) *tensor.Dense {
	if n.F32 != nil {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(n.F32))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(n.F64))
}

// Pure reports whether an operation of Gorgonia v0.9.18 is certainly a function of its inputs, so that it may run
// twice. This holds for an operation that may overwrite an input, and for arithmetic of two operands. Others may draw
// random numbers or count their runs.
func Pure(op G.Op) bool {
	_, binary := op.(G.BinaryOp)
	return binary || op.OverwritesInput() >= 0
}

// AxisSize returns the result of an operation that computes the size of an axis of x, 0 for any other operation.
func AxisSize(op G.Op, x *G.Node) int {
	sizer, ok := op.(G.DimSizer)
	for axis := 0; ok && axis < x.Dims(); axis++ {
		if n, err := sizer.DimSize(axis); err == nil {
			return n
		}
	}
	return 0
}
