package papers

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// form is one way in which the library computes a model.
type form struct {
	name            string
	double, kernels bool
}

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

const input = "x" // the name of a layer's input

// fill writes numbers into a leaf.
func fill(p graph.Expr, m matrix) {
	t := p.Tensor()
	for i, v := range m.Data {
		t.Set(i, v)
	}
}

// matrixShape returns the shape of a parameter as a matrix: vectors are rows.
func matrixShape(shape []int) (rows, cols int) {
	rows, cols = 1, 1
	for _, n := range shape {
		rows, cols = rows*cols, n
	}
	return rows, cols
}

// small returns a configuration in the generic sizes, without training fields.
func small(change ...func(*gpt.Config)) gpt.Config {
	var c gpt.Config
	c.BlockSize, c.VocabSize, c.NLayer = fixture.Tokens, fixture.Vocabulary, fixture.Blocks
	c.NHead, c.NEmbd = fixture.Heads, fixture.Features
	c.QKSize, c.VSize, c.NInner, c.Bias = fixture.QK, fixture.Values, fixture.Hidden, true
	for _, f := range change {
		f(&c)
	}
	return c
}

func newModel(t testing.TB, c gpt.Config) verify.Model {
	t.Helper()
	m, err := verify.NewModel(c, fixture.Batch, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// planOf describes a model without dropout to the formulas.
func planOf(m verify.Model) variants.Plan {
	c := m.Config
	p := variants.Plan{
		Batch: len(m.Tokens) / c.BlockSize, Context: c.BlockSize, Layers: c.NLayer, Heads: c.NHead, QK: c.QKSize,
		Position: c.Position, Attention: c.Attention, Norm: c.Norm, Block: c.Block, Activation: c.Activation,
		Head: c.Head,
		Eps:  c.Eps, Theta: c.Rope.Theta,
	}
	if c.LoraR > 0 {
		p.LoRAScale = c.LoraAlpha / float64(c.LoraR)
	}
	return p
}

// built returns a model of the library in one form, with the values of m.
func built(t *testing.T, m verify.Model, f form, batch int) *gpt.Model {
	t.Helper()
	model, err := gpt.New(f.graph(m.Seed, m.Step), m.Config, batch)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range model.Params() {
		fill(p, m.Parameters[p.Name()])
	}
	copy(model.Tokens.Ints(), m.Tokens)
	copy(model.Targets.Ints(), m.Targets)
	return model
}

// results holds the gradients that a form computes, and the Δ at the places that it exposes.
type results struct {
	form   form
	grads  parameters
	deltas map[string]matrix
}

// computedModel returns the library's gradients of a model, and of the inputs of the parts after each place.
func computedModel(t *testing.T, m verify.Model, f form, following map[string]string) results {
	t.Helper()
	model := built(t, m, f, len(m.Tokens)/m.Config.BlockSize)
	places := map[string]graph.Expr{}
	wrt := model.Params()
	wrt = wrt[:len(wrt):len(wrt)]
	for place, next := range following {
		find := wrt[0].Graph().Entering
		if place == next {
			find = wrt[0].Graph().Leaving
		}
		x, err := find(next)
		if err != nil {
			t.Fatal(err)
		}
		places[place] = x
		wrt = append(wrt, x)
	}
	p, err := graph.Compile(model.Loss, wrt...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	r := results{form: f, grads: parameters{}, deltas: map[string]matrix{}}
	for _, x := range model.Params() {
		r.grads[x.Name()] = verify.FromTensor(p.Grad(x))
	}
	for place, x := range places {
		r.deltas[place] = verify.FromTensor(p.Grad(x))
	}
	return r
}

// without returns a copy of the model.
func without(m verify.Model) verify.Model {
	c := m
	c.Parameters = hand.Parameters[float64]{}
	for name, p := range m.Parameters {
		c.Parameters[name] = p.Scale(1)
	}
	return c
}
