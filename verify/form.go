package verify

import (
	"maps"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
	"github.com/pkg/errors"
)

// form is one way of the library to compute a model.
type form struct {
	name      string
	double    bool // float64
	kernels   bool
	precision string // of the kernels' products, "" for the default
}

// The forms that are compared with the formulas.
var (
	reference = form{"autodiff", true, false, ""}
	kernels64 = form{"kernels", true, true, ""}
	kernels32 = form{"float32", false, true, ""}
	rounded32 = form{"bf16", false, true, "bf16"} // only if the model's Precision is not the default
)

func forms() []form { return []form{reference, kernels64, kernels32} }

func (f form) graph(seed, step uint64) *graph.Graph {
	g := graph.New(f.dtype(), seed)
	f.set(g, step)
	return g
}

func (f form) dtype() graph.Dtype {
	if f.double {
		return graph.Float64
	}
	return graph.Float32
}

func (f form) set(g *graph.Graph, step uint64) {
	g.Kernels = f.kernels
	g.SetStep(step)
	if f.precision != "" {
		g.SetPrecision(f.precision)
	}
}

// compiled is graph.Build in this form: build declares a loss, and compiled compiles it with the gradients of wrt,
// since two nodes that share a hash show only then.
func (f form) compiled(seed, step uint64, build func(g *graph.Graph) (loss graph.Expr, wrt []graph.Expr, err error)) (
	p *graph.Program, err error) {
	_, err = graph.Build(f.dtype(), seed, func(g *graph.Graph) error {
		f.set(g, step)
		loss, wrt, err := build(g)
		if err != nil {
			return err
		}
		p, err = graph.Compile(loss, wrt...)
		return errors.Wrap(err, f.name)
	})
	return p, err
}

// built is a model in one form.
type built struct {
	graph   *graph.Graph
	loss    graph.Expr
	program *graph.Program
	feed    func() error          // writes the text
	sight   *causal.Model         // for a language model, in which no token may see a later one
	places  map[string]graph.Expr // activations whose gradients are Δ of the formulas, by their names there
}

// built builds a model and compiles it.
func (f form) built(seed, step uint64, build func(g *graph.Graph) (*built, error)) (b *built, err error) {
	p, err := f.compiled(seed, step, func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		if b, err = build(g); err != nil {
			return graph.Expr{}, nil, err
		}
		return b.loss, slices.Concat(g.Params(), slices.Collect(maps.Values(b.places))), nil
	})
	if err != nil {
		return nil, err
	}
	b.program = p
	return b, nil
}

// results are the loss, the gradients and the Δ that a form computes.
type results struct {
	form      form
	precision string // of the graph's products
	loss      float64
	looked    bool   // it was checked that no token sees a later one
	leak      string // describes a token that does
	grads     hand.Parameters[float64]
	deltas    map[string]hand.Matrix[float64]
}

// fill writes the text and the parameters.
func (b *built) fill(parameters hand.Parameters[float64]) error {
	if err := b.feed(); err != nil {
		return err
	}
	params := b.graph.Params()
	for _, p := range params {
		if err := set(p, parameters); err != nil {
			return err
		}
	}
	if len(params) != len(parameters) {
		return errors.Wrapf(ErrCoverage, "the model has %d parameters, %d are given", len(params), len(parameters))
	}
	return nil
}

// run computes with the given parameters.
func (b *built) run(f form, parameters hand.Parameters[float64]) (*results, error) {
	if err := b.fill(parameters); err != nil {
		return nil, err
	}
	p := b.program
	if err := p.Run(); err != nil {
		return nil, err
	}
	r := &results{
		form: f, precision: b.graph.Precision(), loss: p.Loss(),
		grads: hand.Parameters[float64]{}, deltas: map[string]hand.Matrix[float64]{},
	}
	for _, x := range b.graph.Params() {
		r.grads[x.Name()] = FromTensor(p.Grad(x))
	}
	for name, x := range b.places {
		r.deltas[name] = FromTensor(p.Grad(x))
	}
	return r, b.look(r)
}

// look checks that no token sees a later one or another text.
func (b *built) look(r *results) error {
	if b.sight == nil {
		return nil
	}
	err := causal.Check(*b.sight)
	leak := (*causal.Leak)(nil)
	switch {
	case errors.As(err, &leak):
		r.leak = leak.Error()
	case errors.Is(err, graph.ErrNotFinite): // the comparison of the loss reports it
		return nil
	case err != nil:
		return err
	}
	r.looked = true
	return nil
}

// Subject is a model that Check accepts: a Model or Pairs.
type Subject interface{ subject() (subject, error) }

// subject is a model with its parameters, and the functions that build it in the library and in the formulas.
type subject struct {
	parameters hand.Parameters[float64]
	text       hand.Text
	seed       uint64
	precision  string // of the products in training
	build      func(f form) (*built, error)
	plan       func(g *graph.Graph) (variants.Plan, error)
	position   func(name string, d Difference) string // describes where a difference is in the named activation
}
