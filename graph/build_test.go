package graph

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
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

// countdown is a context that ends after a number of queries of its state, so that a test can stop building at every
// possible point.
type countdown struct {
	context.Context
	left int
	stop context.CancelCauseFunc
}

var errStop = errors.New("a signal")

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		c.stop(errStop)
	}
	return c.Context.Err()
}

func newCountdown(n int) *countdown {
	ctx, stop := context.WithCancelCause(context.Background())
	return &countdown{ctx, n, stop}
}

// deep builds and compiles a chain of layers with its backward pass.
func deep(g *Graph) error {
	s := g.Root()
	x := s.Value("x", Const(1), 3, 2)
	for i := range 12 {
		at := s.Sub("h.%d", i)
		x = x.In(at).MatMul(at.Param("w", Normal(1), 2, 2)).Tanh().Add(x)
	}
	_, err := Compile(x.SumAll(), g.Params()...)
	return err
}

// Wherever the context ends, building and compiling fail with its cause before the next node is created.
func TestContextStopsBuilding(t *testing.T) {
	full := newCountdown(1 << 30)
	if _, err := Build(Float64, 1, func(g *Graph) error { g.SetContext(full); return deep(g) }); err != nil {
		t.Fatal(err)
	}
	queries := 1<<30 - full.left
	if queries < 100 {
		t.Fatalf("got %d queries of the context, want one per node", queries)
	}
	for n := range queries {
		ctx := newCountdown(n)
		_, err := Build(Float64, 1, func(g *Graph) error { g.SetContext(ctx); return deep(g) })
		if !errors.Is(err, errStop) || !strings.Contains(err.Error(), "building was stopped") {
			t.Fatalf("stopped after %d of %d: got %v", n, queries, err)
		}
		if more := -ctx.left; more > 8 {
			t.Fatalf("stopped after %d of %d: got %d more queries, want none", n, queries, more)
		}
	}
}

// A context that has ended stops neither compiled programs nor siblings.
func TestContextEndsWithBuilding(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	g := New(Float64, 1)
	g.SetContext(ctx)
	x := g.Root().Param("x", Const(2), 1)
	p, err := Compile(x.Square().SumAll(), x)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := p.Run(); err != nil {
		t.Errorf("a compiled program: %v", err)
	}
	if s := g.Sibling(); s.Root().Param("x", Const(2), 1).Graph().Err() != nil {
		t.Errorf("a sibling: %v", s.Err())
	}
	g.SetContext(context.Background())
	if err := x.Cube().Graph().Err(); err != nil {
		t.Errorf("without a context again: %v", err)
	}
}

// The order of the nodes is that of Gorgonia's own Sort, for a graph and for a part of it.
func TestSortedIsGorgonias(t *testing.T) {
	g := New(Float64, 1)
	if err := deep(g); err != nil {
		t.Fatal(err)
	}
	for _, part := range []*G.ExprGraph{g.g, g.g.ExactSubgraphRoots(g.params[3].node, g.g.Roots()[0])} {
		got, err := g.sorted(part)
		if err != nil {
			t.Fatal(err)
		}
		want, err := G.Sort(part)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) < 2 || !slices.Equal(got, want) {
			t.Errorf("%d nodes: the order is not that of Sort", len(got))
		}
	}
}
