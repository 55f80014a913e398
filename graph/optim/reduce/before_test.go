package reduce_test

import (
	"errors"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// The function set by Before receives the mean of the gradients before they are clipped, in both types, and may change
// them. If it fails, there is no step, and the accumulated gradients are discarded.
func TestBefore(t *testing.T) {
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		w := graph.New(dtype, 1).Root().Param("w", graph.Const(3), 1, 2)
		w.Tensor().Set(1, -4)
		p, err := graph.Compile(w.Square().SumAll(), w)
		o, err2 := optim.New([]graph.Expr{w}, optim.SGD{})
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		var seen []float64
		var fail error
		o.Clip = 100
		o.Before(func(params []graph.Expr, grads []graph.Tensor) error {
			if len(params) != 1 || len(grads) != 1 || params[0].Name() != "w" {
				t.Fatalf("%d parameters, %d gradients", len(params), len(grads))
			}
			seen = grads[0].Floats()
			grads[0].Set(1, 0)
			return fail
		})
		if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil { // gradients of (3, −4)
			t.Fatal(err)
		}
		w.Tensor().Set(0, 1) // 2w is 6, then 2: the mean is 4
		if norm := step(t, o, p, 0.25); norm != 4 || seen[0] != 4 || seen[1] != -8 || w.Tensor().At(0) != 0 ||
			w.Tensor().At(1) != -4 {
			t.Errorf("%v: norm %v, saw %v, w is %v", dtype, norm, seen, w.Tensor().Floats())
		}
		fail = errors.New("no")
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if norm, err := o.Update(p, 0.25); err == nil || err.Error() != "sgd: no" || !math.IsNaN(norm) ||
			w.Tensor().At(1) != -4 || o.Steps != 1 {
			t.Errorf("%v: got %v, %v, w is %v after %d steps", dtype, norm, err, w.Tensor().Floats(), o.Steps)
		}
		o.Before(nil)
		w.Tensor().Set(0, 2)
		if norm := step(t, o, p, 0.25); norm != math.Hypot(4, 8) || w.Tensor().At(0) != 1 {
			t.Errorf("%v: with nobody looking: norm %v, w is %v", dtype, norm, w.Tensor().Floats())
		}
	}
}

func step(t *testing.T, o *optim.Optimizer, p *graph.Program, lr float64) float64 {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	norm, err := o.Update(p, lr)
	if err != nil {
		t.Fatal(err)
	}
	return norm
}
