package verify

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pkg/errors"
)

// Central differences: the step that balances its square against rounding, and what they can be off.
const (
	differenceStep       = 1e-5
	toleranceDifferences = 1e-6
)

// layerForm is the layer of a Case in one form of the library.
type layerForm struct {
	form    form
	wrt     []graph.Expr
	program *graph.Program
	numbers hand.Parameters[float64] // the input and every parameter
	delta   hand.Matrix[float64]
}

// form builds the layer and puts random numbers into it: nothing may stay at 0 or 1, where a mistake hides.
func (c Case) form(f form) (*layerForm, error) {
	g, d := f.graph(fixture.Seed, fixture.Step), fixture.Dims()
	s := g.Root()
	at := nn.Site{
		Scope: s, Dims: d, Affine: nn.NewLinear, Bias: true, Eps: 1e-5,
		Mask: nn.NewMask(s, d, nn.Causal{}), Act: nn.GELU{},
	}
	x := s.Value(input, graph.Const(0), d.Batch*d.Context, d.Embd)
	y := c.Build(at, x)
	l := &layerForm{form: f, wrt: []graph.Expr{x}, numbers: hand.Parameters[float64]{}, delta: hand.NewMatrix(1, 1, 1.0)}
	loss := y
	if shape := y.Shape(); len(shape) == 2 {
		l.delta = fixture.Random("delta", shape[0], shape[1])
		delta := s.Value("delta", graph.Const(0), shape...)
		fill(delta, l.delta)
		loss = y.Mul(delta).SumAll()
	}
	for _, p := range append([]graph.Expr{x}, g.Params()...) {
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
	var err error
	if l.program, err = graph.Compile(loss, l.wrt...); err != nil {
		return nil, err
	}
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
	if err := l.program.Run(); err != nil {
		return nil, err
	}
	a := &results{form: l.form, loss: l.program.Loss(), grads: hand.Parameters[float64]{}}
	for _, x := range l.wrt {
		a.grads[x.Name()] = FromTensor(l.program.Grad(x))
	}
	return a, nil
}

// difference is the central difference of the loss by entry i of a parameter.
func (l *layerForm) difference(name string, i int) (float64, error) {
	x := l.wrt[slices.IndexFunc(l.wrt, func(x graph.Expr) bool { return x.Name() == name })].Tensor()
	here := x.At(i)
	defer x.Set(i, here)
	var sides [2]float64
	for j, step := range []float64{-differenceStep, differenceStep} {
		x.Set(i, here+step)
		if err := l.program.Run(); err != nil {
			return 0, err
		}
		sides[j] = l.program.Loss()
	}
	return (sides[1] - sides[0]) / (2 * differenceStep), nil
}
