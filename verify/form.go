package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

// form is one way in which the library computes a model.
type form struct {
	name    string
	double  bool // float64
	kernels bool
}

// The forms that are compared with the formulas.
var (
	reference = form{"autodiff", true, false}
	kernels64 = form{"kernels", true, true}
	kernels32 = form{"float32", false, true}
)

func forms() []form { return []form{reference, kernels64, kernels32} }

func (f form) graph(seed, step uint64) *graph.Graph {
	dtype := graph.Float32
	if f.double {
		dtype = graph.Float64
	}
	g := graph.New(dtype, seed)
	g.Kernels = f.kernels
	g.SetStep(step)
	return g
}

// built is a model in one form.
type built struct {
	graph  *graph.Graph
	loss   graph.Expr
	feed   func() error          // writes the text
	places map[string]graph.Expr // whose gradients are the Δ that both sides know, by the hand's names
}

// results are the loss, the gradients and the Δ that a form computes.
type results struct {
	form   form
	loss   float64
	grads  hand.Parameters[float64]
	deltas map[string]hand.Matrix[float64]
}

// run computes with the given parameters.
func (b *built) run(f form, parameters hand.Parameters[float64]) (*results, error) {
	if err := b.feed(); err != nil {
		return nil, err
	}
	params := b.graph.Params()
	wrt := params[:len(params):len(params)]
	for _, p := range params {
		if err := set(p, parameters); err != nil {
			return nil, err
		}
	}
	if len(params) != len(parameters) {
		return nil, errors.Wrapf(ErrCoverage, "the model has %d parameters, %d are given", len(params), len(parameters))
	}
	for _, x := range b.places {
		wrt = append(wrt, x)
	}
	p, err := graph.Compile(b.loss, wrt...)
	if err != nil {
		return nil, err
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	r := &results{form: f, loss: p.Loss(), grads: hand.Parameters[float64]{}, deltas: map[string]hand.Matrix[float64]{}}
	for _, x := range params {
		r.grads[x.Name()] = FromTensor(p.Grad(x))
	}
	for name, x := range b.places {
		r.deltas[name] = FromTensor(p.Grad(x))
	}
	return r, nil
}

func set(p graph.Expr, from hand.Parameters[float64]) error {
	t, m := p.Tensor(), from[p.Name()]
	if rows, cols := matrixShape(t.Shape); m.Rows != rows || m.Cols != cols {
		return errors.Wrapf(ErrCoverage, "%s: (%d, %d) in the model, (%d, %d) given", p.Name(), rows, cols, m.Rows, m.Cols)
	}
	for i, v := range m.Data {
		t.Set(i, v)
	}
	return nil
}

// ParametersOf copies the numbers of a model.
func ParametersOf(params []graph.Expr) hand.Parameters[float64] {
	out := hand.Parameters[float64]{}
	for _, p := range params {
		out[p.Name()] = FromTensor(p.Tensor())
	}
	return out
}

// FromTensor copies a tensor of the library; vectors become rows (1, d).
func FromTensor(t graph.Tensor) hand.Matrix[float64] {
	if t.Len() == 0 {
		return hand.Matrix[float64]{}
	}
	rows, cols := matrixShape(t.Shape)
	return hand.NewMatrix(rows, cols, t.Floats()...)
}

// matrixShape is the shape of a parameter as a matrix: vectors are rows, and leading axes become one.
func matrixShape(shape []int) (rows, cols int) {
	rows, cols = 1, 1
	for _, n := range shape {
		rows, cols = rows*cols, n
	}
	return rows, cols
}

// places are the activations whose Δ both sides know: what the hand calls the Δ at the output of one part is the gradient
// of what enters the next.
type places struct {
	graph *graph.Graph
	found map[string]graph.Expr
}

func (p places) add(name, next string) {
	if x, ok := p.graph.Entering(next); ok {
		p.found[name] = x
	}
}

// sublayers adds what is inside the block of that name. Where queries, keys and values come each by a way of its own, packed
// is false.
func (p places) sublayers(h string, packed bool) {
	p.add(h+".mlp.act", h+".mlp.c_proj")
	p.add(h+".mlp.c_fc", h+".mlp")
	p.add(h+".attn.heads", h+".attn.c_proj")
	if packed {
		p.add(h+".attn.c_attn", h+".attn")
	}
}
