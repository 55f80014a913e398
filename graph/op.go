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

// body computes an operation: out from in, row-major. The entry of an integer input is nil.
type body[T kernel.Float] func(out []T, in [][]T)

// op is the base of our own Gorgonia operations. Its result lies in a buffer that Compile plans, so no result is
// allocated when it runs; what threads share, and the backward pass, may allocate closures. A panic in it
// is an error of the run.
type op struct {
	name   string       // with every attribute: equal names on equal inputs mean equal results
	shape  tensor.Shape // empty of a scalar
	wrt    []bool       // which inputs it can be differentiated by
	out    *buffer      // the result
	fills  []*buffer    // what it writes besides: further results, state for the backward pass, scratch
	uses   []*buffer    // what it reads besides its inputs
	rows   Expr         // of a table's gradient: the ids of the only rows that are not 0; empty of any other
	before func() error // may refuse a run; nil if nothing does
	f32    body[float32]
	f64    body[float64]
	diff   func(in G.Nodes, out, grad *G.Node) (G.Nodes, error)

	dtype tensor.Dtype
	in    []hm.Type
}

// node adds the operation to the graph.
func (g *Graph) node(o *op, children ...*G.Node) (*G.Node, error) {
	if err := g.interrupted(); err != nil { // while the backward pass is built
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
	o.name = fmt.Sprintf("%s%s#%d", g.salt, o.name, g.ops) // never merged with another: it owns its result
	return G.ApplyOp(o, children...)
}

// part returns an operation without work: it returns a buffer of that shape which primary's run has filled. Being
// computed from primary's result it comes after it, and that is all its input is for.
func (g *Graph) part(name string, primary *G.Node, b *buffer, shape tensor.Shape) (*G.Node, error) {
	o := &op{name: name, shape: shape, wrt: []bool{false}, out: b}
	o.f32, o.f64 = func([]float32, [][]float32) {}, func([]float64, [][]float64) {}
	return g.node(o, primary)
}

// scalar says that the result is one number, not a tensor.
func (o *op) scalar() bool { return len(o.shape) == 0 }

func (o *op) Arity() int { return len(o.in) }

// Type is made again each time: Gorgonia takes the result apart and puts it in a pool.
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

// Do is for Gorgonia's machines, which a Program does without.
func (o *op) Do(...G.Value) (G.Value, error) {
	return nil, errors.Errorf("%s runs in a Program alone", o.name)
}

// link makes the turn of a program that computes the operation from in to out.
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
	return append(grads, make(G.Nodes, max(0, len(in)-len(grads)))...), err // nothing for the rest
}
