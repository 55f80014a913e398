package optim

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// An update that overflows returns an error that names the first such parameter, and does not count as a step. Forget
// discards the gradients accumulated for a step that is given up.
func TestOverflowAndForget(t *testing.T) {
	o, p, w := descent(t, graph.Float32, SGD{})
	if err := errors.Join(p.Run(), o.Accumulate(p)); err != nil {
		t.Fatal(err)
	}
	o.Forget()
	if norm := step(t, o, p, 0.25); norm != 10 || w.Tensor().At(0) != 1.5 {
		t.Errorf("after a step that was given up: norm %v, w is %v, want 10 and 1.5", norm, w.Tensor().At(0))
	}
	if _, err := o.Update(p, 3e38); !errors.Is(err, graph.ErrNotFinite) ||
		!strings.Contains(err.Error(), "update: w: entry 0 is -Inf") || o.Steps != 1 {
		t.Errorf("got error %v after %d steps, want one of w after 1", err, o.Steps)
	}
	g := graph.New(graph.Float32, 1)
	x := g.Root().Param("x", graph.Const(1), 1, 2)
	y := g.Root().Param("y", graph.Const(1), 1, 2)
	p, err := graph.Compile(x.Scale(1e25).SumAll().Add(y.SumAll()), x, y)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New([]graph.Expr{x, y}, AdamW{Beta1: 0.9, Beta2: 0.99})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Update(p, 0.1); !errors.Is(err, graph.ErrNotFinite) ||
		!strings.Contains(err.Error(), "v.x: entry 0 is +Inf") || a.Steps != 0 {
		t.Errorf("a mean square beyond float32: got error %v after %d steps", err, a.Steps)
	}
	if got := x.Tensor().At(0); math.IsNaN(got) {
		t.Errorf("x is %v", got)
	}
	o, err = New([]graph.Expr{x}, SGD{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Update(p, 1e15); !errors.Is(err, graph.ErrNotFinite) || o.Steps != 0 {
		t.Errorf("a weight beyond float32 by a large gradient: got error %v after %d steps", err, o.Steps)
	}
}
