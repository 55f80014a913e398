package graph

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// body computes an operation: out from in, row-major. The entry for an integer input is nil.
type body[T kernel.Float] func(out []T, in [][]T)

// op is the base of our own Gorgonia operations. Compile plans the buffer of its result, so running it allocates no
// result; loops over threads, and the backward pass, may allocate closures. A panic in it is an error of the run.
type op struct {
	name   string       // includes every attribute: equal names on equal inputs mean equal results
	shape  tensor.Shape // empty for a scalar
	wrt    []bool       // the inputs that it can be differentiated by
	out    *buffer      // the result
	fills  []*buffer    // what else it writes: further results, state for the backward pass, scratch
	uses   []*buffer    // what it reads in addition to its inputs
	rows   Expr         // for a table's gradient: the ids of the rows that are not 0; otherwise empty
	before func() error // optional: runs before the operation, and may return an error
	f32    body[float32]
	f64    body[float64]
	diff   func(in G.Nodes, out, grad *G.Node) (G.Nodes, error)

	dtype tensor.Dtype
	in    []hm.Type
}

// node adds the operation to the graph.
func (g *Graph) node(o *op, children ...*G.Node) (*G.Node, error) {
	if err := g.interrupted(); err != nil { // also stops building the backward pass
		return nil, err
	}
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
	if o.out == nil {
		o.out = &buffer{}
	}
	o.out.size = o.shape.TotalSize()
	if o.scalar() {
		o.out.size = 1
	}
	g.ops++
	o.name = fmt.Sprintf("%s%s#%d", g.salt, o.name, g.ops) // never merged with another operation: it owns its result
	return G.ApplyOp(o, children...)
}

// part returns an operation without work, whose result is a buffer of the given shape that the run of primary fills.
// Its input is primary's result only so that it runs after it.
func (g *Graph) part(name string, primary *G.Node, b *buffer, shape tensor.Shape) (*G.Node, error) {
	o := &op{name: name, shape: shape, wrt: []bool{false}, out: b}
	o.f32, o.f64 = func([]float32, [][]float32) {}, func([]float64, [][]float64) {}
	return g.node(o, primary)
}

// scalar reports whether the result is one number, not a tensor.
func (o *op) scalar() bool { return len(o.shape) == 0 }

func (o *op) Arity() int { return len(o.in) }

// Type returns a new type in each call: Gorgonia takes the result apart and puts it in a pool.
func (o *op) Type() hm.Type {
	types := append(append([]hm.Type{}, o.in...), hm.Type(o.dtype))
	if !o.scalar() {
		types[len(types)-1] = G.TensorType{Dims: len(o.shape), Of: o.dtype}
	}
	return hm.NewFnType(types...)
}

func (o *op) InferShape(...G.DimSizer) (tensor.Shape, error) {
	if o.scalar() {
		return tensor.ScalarShape(), nil
	}
	return o.shape, nil
}

// Do returns an error: it exists for Gorgonia's machines, which a Program does not use.
func (o *op) Do(...G.Value) (G.Value, error) {
	return nil, errors.Errorf("%s runs only in a Program", o.name)
}

// link returns the function that computes the operation from in to out in a program.
func (o *op) link(out plan.Numbers, in []plan.Numbers) func() error {
	f32, f64 := make([][]float32, len(in)), make([][]float64, len(in))
	for i, n := range in {
		f32[i], f64[i] = n.F32, n.F64
	}
	return func() error {
		if o.before != nil {
			if err := o.before(); err != nil {
				return err
			}
		}
		if o.dtype == Float32 {
			o.f32(out.F32, f32)
		} else {
			o.f64(out.F64, f64)
		}
		return nil
	}
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
	grads, err := o.diff(in, out, grad)
	return append(grads, make(G.Nodes, max(0, len(in)-len(grads)))...), err // nil for the other inputs
}
