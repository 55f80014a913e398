package graph

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// body computes an operation: out from in, row-major. The entry of an integer input is nil.
type body[T kernel.Float] func(out []T, in [][]T) error

// op is the base of our own Gorgonia operations. It owns the tensor that it returns, so nothing is allocated when it
// runs; Compile assigns that tensor. It panics never: a panic in Gorgonia's goroutine would end the process.
type op struct {
	name   string // with every attribute: equal names on equal inputs mean equal results
	shape  tensor.Shape
	scalar bool   // the result is one number, not a tensor
	wrt    []bool // which inputs it can be differentiated by
	parts  []*op  // further results that one run of this operation fills
	f32    body[float32]
	f64    body[float64]
	diff   func(in G.Nodes, out, grad *G.Node) (G.Nodes, error)

	dtype tensor.Dtype
	in    []hm.Type
	dense *tensor.Dense // the buffer, nil until compiled and when nobody reads the result
	value G.Value
}

// node adds the operation to the graph.
func (g *Graph) node(o *op, children ...*G.Node) (*G.Node, error) {
	o.dtype, o.in = g.dtype, nil
	for _, c := range children {
		o.in = append(o.in, c.Type())
	}
	if o.wrt == nil {
		o.wrt = make([]bool, len(children))
		for i := range o.wrt {
			o.wrt[i] = children[i].Dtype() == g.dtype
		}
	}
	g.ops++
	o.name = fmt.Sprintf("%s%s#%d", g.salt, o.name, g.ops) // never merged with another: it owns its result
	return G.ApplyOp(o, children...)
}

// part is an operation without work: its result is filled by the run of primary. Being computed from primary's result it
// comes after it, and that is all its input is for.
func (g *Graph) part(name string, primary *G.Node, o *op) (*G.Node, error) {
	o.name, o.wrt = name, []bool{false}
	o.f32 = func([]float32, [][]float32) error { return nil }
	o.f64 = func([]float64, [][]float64) error { return nil }
	return g.node(o, primary)
}

func (o *op) Arity() int { return len(o.in) }

// Type is made anew each time: Gorgonia takes the result apart and puts it in a pool.
func (o *op) Type() hm.Type {
	types := append(append([]hm.Type{}, o.in...), hm.Type(o.dtype))
	if !o.scalar {
		types[len(types)-1] = G.TensorType{Dims: len(o.shape), Of: o.dtype}
	}
	return hm.NewFnType(types...)
}

func (o *op) InferShape(...G.DimSizer) (tensor.Shape, error) {
	if o.scalar {
		return tensor.ScalarShape(), nil
	}
	return o.shape.Clone(), nil
}

// assign gives the operation its buffer.
func (o *op) assign() {
	if o.dense != nil {
		return
	}
	shape := o.shape
	if o.scalar {
		shape = tensor.Shape{1}
	}
	o.dense = newDense(o.dtype, shape...)
	switch {
	case !o.scalar:
		o.value = o.dense
	case o.dtype == Float32:
		o.value = G.NewF32(0)
	default:
		o.value = G.NewF64(0)
	}
}

func (o *op) Do(in ...G.Value) (v G.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("%s: %v", o.name, r)
		}
	}()
	if o.dense == nil {
		return nil, errors.Errorf("%s ran before it was compiled", o.name)
	}
	if o.dtype == Float32 {
		if err = o.f32(o.dense.Float32s(), views[float32](in)); err == nil && o.scalar {
			*o.value.(*G.F32) = G.F32(o.dense.Float32s()[0])
		}
		return o.value, err
	}
	if err = o.f64(o.dense.Float64s(), views[float64](in)); err == nil && o.scalar {
		*o.value.(*G.F64) = G.F64(o.dense.Float64s()[0])
	}
	return o.value, err
}

func views[T kernel.Float](in []G.Value) [][]T {
	out := make([][]T, len(in))
	for i, v := range in {
		t := view(v)
		switch {
		case t.F32 != nil:
			out[i], _ = any(t.F32).([]T)
		case t.F64 != nil:
			out[i], _ = any(t.F64).([]T)
		}
	}
	return out
}

// numbers is the buffer of a part, nil if nobody reads it.
func numbers[T kernel.Float](o *op) []T {
	if o == nil || o.dense == nil {
		return nil
	}
	t := view(o.dense)
	if s, ok := any(t.F32).([]T); ok {
		return s
	}
	return any(t.F64).([]T)
}

func (o *op) ReturnsPtr() bool     { return false }
func (o *op) CallsExtern() bool    { return false }
func (o *op) OverwritesInput() int { return -1 }
func (o *op) String() string       { return o.name }

func (o *op) WriteHash(h hash.Hash) { h.Write([]byte(o.name)) }

func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *op) DiffWRT(int) []bool { return o.wrt }

func (o *op) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	if o.diff == nil {
		return nil, errors.Errorf("%s has no derivative", o.name)
	}
	return o.diff(in, out, grad)
}
