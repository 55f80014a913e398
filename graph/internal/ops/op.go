package ops

import (
	"hash"
	"hash/fnv"
	"slices"

	"github.com/chewxy/hm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// body computes an operation: out from in, row-major. The entry for an integer input is nil.
type body[T kernel.Float] func(out []T, in [][]T)

// Op is a Gorgonia operation of this package. Compile plans the buffer of its result, so running it allocates no
// result; loops over threads, and the backward pass, may allocate closures. A panic in it is an error of the run.
type Op struct {
	name   string       // includes every attribute: equal names on equal inputs mean equal results
	shape  tensor.Shape // empty for a scalar
	wrt    []bool       // the inputs that it can be differentiated by
	out    *buffer      // the result
	fills  []*buffer    // what else it writes: further results, state for the backward pass, scratch
	uses   []*buffer    // what it reads in addition to its inputs
	rows   *IDs         // for a table's gradient: the ids of the rows that are not 0; otherwise nil
	before func() error // optional: runs before the operation, and may return an error
	f32    body[float32]
	f64    body[float64]
	diff   func(in G.Nodes, out, grad *G.Node) (G.Nodes, error)

	dtype tensor.Dtype
	in    []hm.Type
}

// Plan writes the buffers and the function of the operation to p.
func (o *Op) Plan(p *plan.Op) {
	p.Out, p.Run = o.out, o.link
	for _, b := range o.fills {
		p.Fills = append(p.Fills, b)
	}
	for _, b := range o.uses {
		p.Uses = append(p.Uses, b)
	}
}

// link returns the function that computes the operation from in to out in a program.
func (o *Op) link(out plan.Numbers, in []plan.Numbers) func() error {
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
		if o.dtype == tensor.Float32 {
			o.f32(out.F32, f32)
		} else {
			o.f64(out.F64, f64)
		}
		return nil
	}
}

// scalar reports whether the result is one number, not a tensor.
func (o *Op) scalar() bool { return len(o.shape) == 0 }

// Arity returns the number of inputs.
func (o *Op) Arity() int { return len(o.in) }

// Type returns a new type in each call: Gorgonia takes the result apart and puts it in a pool.
func (o *Op) Type() hm.Type { return hm.NewFnType(append(slices.Clone(o.in), o.result())...) }

// result returns the type of the result.
func (o *Op) result() hm.Type {
	if o.scalar() {
		return o.dtype
	}
	return G.TensorType{Dims: len(o.shape), Of: o.dtype}
}

// InferShape returns the shape of the result.
func (o *Op) InferShape(...G.DimSizer) (tensor.Shape, error) {
	if o.scalar() {
		return tensor.ScalarShape(), nil
	}
	return o.shape, nil
}

// Do returns an error: it exists for Gorgonia's machines, which a Program does not use.
func (o *Op) Do(...G.Value) (G.Value, error) {
	return nil, errors.Errorf("%s runs only in a Program", o.name)
}

// ReturnsPtr returns false.
func (o *Op) ReturnsPtr() bool { return false }

// CallsExtern returns false.
func (o *Op) CallsExtern() bool { return false }

// OverwritesInput returns −1: no input is overwritten.
func (o *Op) OverwritesInput() int { return -1 }

// String returns the name.
func (o *Op) String() string { return o.name }

// WriteHash writes the name to h.
func (o *Op) WriteHash(h hash.Hash) { h.Write([]byte(o.name)) }

// Hashcode returns the hash of the name.
func (o *Op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

// DiffWRT reports for every input whether the operation can be differentiated by it.
func (o *Op) DiffWRT(int) []bool { return o.wrt }

// SymDiff returns the gradients of the inputs.
func (o *Op) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	if o.diff == nil {
		return nil, errors.Errorf("%s has no derivative", o.name)
	}
	grads, err := o.diff(in, out, grad)
	return append(grads, make(G.Nodes, max(0, len(in)-len(grads)))...), err // nil for the other inputs
}
