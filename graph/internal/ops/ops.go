// Package ops holds the operations that graph adds to Gorgonia's: bridges from the nodes of a graph to the kernels,
// with their backward passes. It does not check operands, because the functions of graph have checked their shapes and
// numbers. It also runs Gorgonia's own operations in planned memory.
package ops

import (
	"fmt"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Node is a node of Gorgonia's, and Shape a shape, for packages that add operations and do not import Gorgonia.
type (
	Node  = G.Node
	Shape = tensor.Shape
)

// Builder adds operations to one graph.
type Builder struct {
	Dtype   tensor.Dtype // type of the numbers, Float32 or Float64
	Pool    *kernel.Pool // pool of the operations built from here on
	Salt    string       // prefix of the names of leaves and operations, which changes their hashes
	Rounds  bool         // round the operands of products to bfloat16
	Outline bool         // shapes only, no numbers
	Stopped func() error // returns an error once building is to stop
	Run     Run

	count int64
	spans map[*G.Node]*attention.Spans // mask → its spans
	rules map[*G.Node]*Rule            // leaf that is not stored → its rule
}

// New returns a Builder for an empty graph.
func New(dtype tensor.Dtype, pool *kernel.Pool, stopped func() error) *Builder {
	b := &Builder{
		Dtype: dtype, Pool: pool, Stopped: stopped, spans: map[*G.Node]*attention.Spans{}, rules: map[*G.Node]*Rule{},
	}
	b.Run.Training.Store(true)
	return b
}

// node adds the operation to the graph.
func (b *Builder) node(o *Op, children ...*G.Node) (*G.Node, error) {
	if err := b.Stopped(); err != nil { // also stops building the backward pass
		return nil, err
	}
	o.dtype = b.Dtype
	for _, c := range children {
		o.in = append(o.in, c.Type())
	}
	if o.wrt == nil {
		o.wrt = make([]bool, len(children))
		for i := range o.wrt {
			o.wrt[i] = children[i].Dtype() == b.Dtype
		}
	}
	if o.out == nil {
		o.out = &buffer{}
	}
	o.out.size = o.shape.TotalSize()
	if o.scalar() {
		o.out.size = 1
	}
	b.count++
	o.name = fmt.Sprintf("%s%s#%d", b.Salt, o.name, b.count) // never merged with another operation: it owns its result
	if !G.Nodes(children).AllSameGraph() {
		return nil, errors.Errorf("%s: the operands belong to different graphs", o.name)
	}
	// Not ApplyOp, which would infer the type and the shape again.
	return G.NewUniqueNode(
		G.WithType(o.result()), G.WithOp(o), G.WithChildren(children), G.In(graphOf(children)), G.WithShape(o.shape...),
	), nil
}

// graphOf returns the graph of the first node that has one: constants may have none.
func graphOf(nodes []*G.Node) *G.ExprGraph {
	for _, n := range nodes {
		if g := n.Graph(); g != nil {
			return g
		}
	}
	return nil
}

// part returns an operation without work, whose result is a buffer of the given shape that the run of primary fills.
// Its input is primary's result only so that it runs after it.
func (b *Builder) part(name string, primary *G.Node, result *buffer, shape tensor.Shape) (*G.Node, error) {
	o := &Op{name: name, shape: shape, wrt: []bool{false}, out: result}
	o.f32, o.f64 = func([]float32, [][]float32) {}, func([]float64, [][]float64) {}
	return b.node(o, primary)
}

// Constant returns the number c in the graph's type.
func (b *Builder) Constant(c float64) *G.Node {
	if b.Dtype == tensor.Float32 {
		return G.NewConstant(float32(c))
	}
	return G.NewConstant(c)
}

// productsOf returns the products in the builder's precision.
func productsOf[T kernel.Float](b *Builder) gemm.Products[T] {
	if rounded, ok := any(gemm.Rounded{}).(gemm.Products[T]); ok && b.Rounds {
		return rounded
	}
	return gemm.Exact[T]{}
}

// IDs is a list of integers in a graph, such as token ids.
type IDs struct {
	Node *G.Node
	List []int // overwritten between runs; nil in an outline
}

// Run holds the numbers of the current run that operations need.
type Run struct {
	Training atomic.Bool // a sibling may be built from the graph while it trains

	step     uint64
	numbered bool   // SetStep has set the step
	begun    bool   // a run with gradients has taken place
	serial   uint64 // number of the run, over all programs of the graph
}

// Begin numbers a run. A run with gradients is the next step of training unless the caller numbers the steps; otherwise
// every step of a loop would drop the same entries.
func (r *Run) Begin(gradients bool) {
	if r.serial++; !gradients || !r.Training.Load() || r.numbered {
		return
	}
	if r.begun {
		r.step++
	}
	r.begun = true
}

// Step returns the number of the step.
func (r *Run) Step() uint64 { return r.step }

// SetStep sets the step of the next run. The caller then sets every step.
func (r *Run) SetStep(step uint64) { r.step, r.numbered = step, true }

func one(n *G.Node, err error) (G.Nodes, error) { return G.Nodes{n}, err }

// present returns the nodes that are not nil.
func present(optional ...*G.Node) (list G.Nodes) {
	for _, n := range optional {
		if n != nil {
			list = append(list, n)
		}
	}
	return list
}
