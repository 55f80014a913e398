package verify

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pkg/errors"
)

// layerForm is the layer of a Case in one form of the library.
type layerForm struct {
	form    form
	dims    nn.Dims
	result  graph.Expr
	loss    graph.Expr
	program *graph.Program // of loss, with the gradients of wrt
	wrt     []graph.Expr
	numbers hand.Parameters[float64] // the input and every parameter
	delta   hand.Matrix[float64]
	frozen  []string // parameters without a gradient, and the states before the first token
}

// DefaultDims returns the sizes of a Case without Dims. They are odd and all different, with a width that three heads
// can share. A layer that assumes two groups, divides by the wrong size or transposes a matrix therefore fails.
func DefaultDims() nn.Dims {
	return nn.Dims{Batch: 5, Context: 7, Embd: 9, Heads: 3, QK: 11, V: 13, Inner: 15, Blocks: 1}
}

// dims returns the sizes of the Case, with the sizes of DefaultDims in place of zeros.
func (c Case) dims() (d nn.Dims, err error) {
	d = c.Dims
	usual := DefaultDims()
	for _, size := range []struct {
		name       string
		got, usual *int
	}{
		{"batch", &d.Batch, &usual.Batch}, {"context", &d.Context, &usual.Context}, {"embd", &d.Embd, &usual.Embd},
		{"heads", &d.Heads, &usual.Heads}, {"qk", &d.QK, &usual.QK}, {"v", &d.V, &usual.V},
		{"inner", &d.Inner, &usual.Inner}, {"blocks", &d.Blocks, &usual.Blocks},
	} {
		if *size.got = cmp.Or(*size.got, *size.usual); *size.got < 1 || *size.got > largestDim {
			return d, errors.Errorf("verify: Dims: %s: got %d, want 1 … %d, or 0 for %d",
				size.name, *size.got, largestDim, *size.usual)
		}
	}
	return d, nil
}

// largestDim is the largest size of a Case, which bounds the memory and the time of its comparisons.
const largestDim = 1 << 10

// form builds the layer and fills it with random numbers. No number stays at 0 or 1, which could hide a mistake.
func (c Case) form(f form) (l *layerForm, err error) {
	d, err := c.dims()
	if err != nil {
		return nil, err
	}
	p, err := f.compiled(fixture.Seed, fixture.Step, func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
		if l, err = c.in(g, d); err != nil {
			return graph.Expr{}, nil, err
		}
		return l.loss, l.wrt, nil
	})
	if err != nil {
		return nil, err
	}
	l.form, l.program = f, p
	return l, nil
}

// in builds the layer in a graph.
func (c Case) in(g *graph.Graph, d nn.Dims) (*layerForm, error) {
	s := g.Root()
	at := nn.Site{
		Scope:     s,
		Dims:      d,
		Style:     nn.Style{Affine: nn.NewLinear, Bias: true, Eps: 1e-5},
		Attending: nn.Attending{Mask: nn.NewMask(s, d, nn.Causal{})},
		Sublayers: nn.Sublayers{Act: nn.GELU{}},
	}
	if c.Carry {
		at.Carry = &nn.Carry{}
	}
	x := s.Value(input, graph.Const(0), d.Batch*d.Context, d.Embd)
	y := c.Build(at, x)
	if err := g.Err(); err != nil {
		return nil, err
	}
	if y.Graph() != g {
		return nil, errors.New("verify: Build or Layer: got no expression of the site's graph, want the layer's result")
	}
	l := &layerForm{
		dims: d, result: y, wrt: []graph.Expr{x},
		numbers: hand.Parameters[float64]{}, delta: hand.NewMatrix(1, 1, 1.0),
		frozen: slices.Clone(c.Frozen),
	}
	loss := y
	if shape := y.Shape(); len(shape) == 2 {
		l.delta = fixture.Random("delta", shape[0], shape[1])
		delta := s.Value("delta", graph.Const(0), shape...)
		fill(delta, l.delta)
		loss = y.Mul(delta).SumAll()
	}
	given := append([]graph.Expr{x}, g.Params()...)
	for _, s := range at.Carry.States() {
		given = append(given, s.Before)
		l.frozen = append(l.frozen, s.Before.Name())
	}
	for _, p := range given {
		rows, cols := matrixShape(p.Tensor().Shape)
		m := fixture.Random(p.Name(), rows, cols)
		if p.Name() == input {
			m = m.Scale(4) // ±2: past the bends of the activations
		}
		fill(p, m)
		l.numbers[p.Name()] = m
	}
	for _, p := range g.Params() {
		if !slices.Contains(c.Frozen, p.Name()) {
			l.wrt = append(l.wrt, p)
		}
	}
	l.loss = loss
	for _, name := range c.Frozen {
		if _, ok := l.numbers[name]; !ok {
			return nil, errors.Wrapf(ErrCoverage, "the layer has no %s", name)
		}
	}
	return l, nil
}

func fill(p graph.Expr, m hand.Matrix[float64]) {
	t := p.Tensor()
	for i, v := range m.Data {
		t.Set(i, v)
	}
}

func (l *layerForm) run() (*results, error) {
	p := l.program
	if err := p.Run(); err != nil {
		return nil, err
	}
	a := &results{form: l.form, loss: p.Loss(), grads: hand.Parameters[float64]{}}
	for _, x := range l.wrt {
		a.grads[x.Name()] = FromTensor(p.Grad(x))
	}
	return a, nil
}
