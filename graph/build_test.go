package graph

import (
	"testing"

	"github.com/pkg/errors"
)

// After a collision, Build builds again on a Sibling with the same parameters. It returns any other error at once.
func TestBuild(t *testing.T) {
	other := errors.New("another error")
	for _, want := range []error{nil, other} {
		var graphs []*Graph
		var weights []Expr
		last, err := Build(Float64, 1, func(g *Graph) error {
			graphs = append(graphs, g)
			weights = append(weights, g.Root().Param("w", Normal(1), 2))
			if len(graphs) < 3 {
				return errors.Wrap(errCollision, "somewhere")
			}
			return want
		})
		if !errors.Is(err, want) || len(graphs) != 3 || graphs[0] == graphs[1] || graphs[1] == graphs[2] ||
			last != graphs[2] {
			t.Errorf("got error %v after %d builds, want %v after 3 on as many graphs", err, len(graphs), want)
		}
		weights[0].Tensor().Set(1, 7)
		if got := weights[2].Tensor().At(1); got != 7 {
			t.Errorf("the last graph has %v, want the first one's 7", got)
		}
	}
}

// The names of TestTrap10HashCollision, in a sibling: the second graph has different hashes for them.
func TestBuildSibling(t *testing.T) {
	calls, first := 0, New(Float64, 1)
	first.Root().Param("p362382", Const(7), 2)
	var p *Program
	s, err := first.BuildSibling(func(g *Graph) (err error) {
		calls++
		x, y := g.Root().Param("p179599", Const(2), 2), g.Root().Param("p362382", Const(5), 2)
		p, err = Compile(x.Mul(y).SumAll(), x)
		return err
	})
	if err != nil || calls != 2 || s == first {
		t.Fatalf("got error %v after %d builds, want 2", err, calls)
	}
	near(t, "loss", []float64{mustRun(t, p).Loss()}, []float64{28}, 0)
}

// Build gives up on a collision that occurs in every graph.
func TestBuildGivesUp(t *testing.T) {
	calls := 0
	_, err := Build(Float64, 1, func(*Graph) error { calls++; return errCollision })
	if !errors.Is(err, errCollision) || calls != 8 {
		t.Errorf("got error %v after %d builds, want 8", err, calls)
	}
}
