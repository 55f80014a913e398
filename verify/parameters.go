package verify

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pkg/errors"
)

// randomParameters returns random values for the parameters that the graph declares.
func randomParameters(g *graph.Graph, seed uint64) (hand.Parameters[float64], error) {
	out := hand.Parameters[float64]{}
	for _, p := range g.Params() {
		name := p.Name()
		if _, twice := out[name]; twice {
			return nil, errors.Errorf("verify: %s is declared twice", name)
		}
		rows, cols := matrixShape(p.Tensor().Shape)
		m := fixture.Random(fmt.Sprint(seed, " ", name), rows, cols)
		if strings.Contains(name, "ln_") && strings.HasSuffix(name, ".weight") {
			m = m.Scale(0.5).Shift(1)
		}
		out[name] = m
	}
	return out, nil
}

func set(p graph.Expr, from hand.Parameters[float64]) error {
	t, m := p.Tensor(), from[p.Name()]
	if rows, cols := matrixShape(t.Shape); m.Rows != rows || m.Cols != cols {
		return errors.Wrapf(ErrCoverage, "%s: (%d, %d) in the model, (%d, %d) given",
			p.Name(), rows, cols, m.Rows, m.Cols)
	}
	for i, v := range m.Data {
		t.Set(i, v)
	}
	return nil
}

// ParametersOf returns a copy of the values of a model's parameters.
func ParametersOf(params []graph.Expr) hand.Parameters[float64] {
	out := hand.Parameters[float64]{}
	for _, p := range params {
		out[p.Name()] = FromTensor(p.Tensor())
	}
	return out
}

// FromTensor returns a copy of a tensor of the library. A vector becomes a row (1, d).
func FromTensor(t graph.Tensor) hand.Matrix[float64] {
	if t.Len() == 0 {
		return hand.Matrix[float64]{}
	}
	rows, cols := matrixShape(t.Shape)
	return hand.NewMatrix(rows, cols, t.Floats()...)
}

// matrixShape returns the shape of a parameter as a matrix. A vector is a row; leading axes are merged.
func matrixShape(shape []int) (rows, cols int) {
	rows, cols = 1, 1
	for _, n := range shape {
		rows, cols = rows*cols, n
	}
	return rows, cols
}
