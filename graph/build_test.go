package graph

import (
	"context"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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
	checkClose(t, "loss", []float64{mustRun(t, p).Loss()}, []float64{28}, 0)
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

// The order of the nodes is the order of Gorgonia's own Sort reversed, for a graph and for a part of it.
func TestNeededIsGorgoniasSort(t *testing.T) {
	g := New(Float64, 1)
	if err := deep(g); err != nil {
		t.Fatal(err)
	}
	for _, roots := range []G.Nodes{g.g.Roots(), {g.params[3].node, g.params[4].node.Deriv()}} {
		got, operands := g.needed(roots)
		want, err := G.Sort(g.g.ExactSubgraphRoots(roots...))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Reverse(want); len(got) < 20 || len(got) != len(operands) || !slices.Equal(got, want) {
			t.Errorf("%d nodes: the order is not that of Sort reversed", len(got))
		}
		for _, n := range got {
			if !slices.Equal(operands[n], g.children(n)) {
				t.Errorf("node %d: got operands %v, want %v", n.ID(), operands[n], g.children(n))
			}
		}
	}
}

// glass is a user-defined operation, y = x, that panics in one of its methods.
type glass struct{ breaks string }

func (o glass) touch(method string) {
	if o.breaks == method {
		panic("glass in " + method)
	}
}

func (o glass) Arity() int { return 1 }
func (o glass) Type() hm.Type {
	o.touch("Type")
	t := G.TensorType{Dims: 2, Of: Float64}
	return hm.NewFnType(t, t)
}

func (o glass) InferShape(x ...G.DimSizer) (tensor.Shape, error) {
	o.touch("InferShape")
	return x[0].(tensor.Shape), nil
}
func (o glass) Do(in ...G.Value) (G.Value, error) { o.touch("Do"); return in[0], nil }
func (o glass) ReturnsPtr() bool                  { o.touch("ReturnsPtr"); return true }
func (o glass) CallsExtern() bool                 { o.touch("CallsExtern"); return false }
func (o glass) OverwritesInput() int              { o.touch("OverwritesInput"); return -1 }
func (o glass) WriteHash(h hash.Hash)             { o.touch("WriteHash"); h.Write([]byte(o.breaks)) }
func (o glass) Hashcode() uint32                  { o.touch("Hashcode"); return 7 }
func (o glass) String() string                    { o.touch("String"); return "glass" }
func (o glass) DiffWRT(int) []bool                { o.touch("DiffWRT"); return []bool{true} }
func (o glass) SymDiff(_ G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	o.touch("SymDiff")
	if o.breaks == "nothing" {
		return nil, nil
	}
	return G.Nodes{grad}, nil
}

// A panic in any method of a user-defined operation, while a graph is built, compiled or run, is an error that names
// its layer.
func TestPanicsOfForeignOperations(t *testing.T) {
	reached := 0
	for _, method := range []string{"", "Type", "InferShape", "Do", "ReturnsPtr", "CallsExtern", "OverwritesInput",
		"WriteHash", "Hashcode", "String", "DiffWRT", "SymDiff", "nothing"} {
		var p *Program
		_, err := Build(Float64, 1, func(g *Graph) (err error) {
			x := g.Root().Param("x", Normal(1), 2, 3)
			y := x.In(g.Root().Sub("h.%d.mine", 1)).Scale(2)
			y = y.Wrap(G.ApplyOp(glass{method}, y.Node()))
			if method == "SymDiff" { // the operands belong to another scope
				y = x.In(g.Root().Sub("h.0")).Tanh().In(g.Root().Sub("h.%d.mine", 1))
				y = y.Wrap(G.ApplyOp(glass{method}, y.Node()))
			}
			p, err = Compile(y.Square().SumAll(), x)
			return err
		})
		if err == nil {
			err = p.Run()
		}
		switch {
		case method == "":
			if err != nil {
				t.Errorf("nothing breaks: got error %v", err)
			}
			continue
		case err == nil: // a method that is never called
			continue
		}
		reached++
		if !strings.Contains(err.Error(), "h.1.mine: ") ||
			method != "nothing" && method != "String" && !strings.Contains(err.Error(), "glass in "+method) {
			t.Errorf("%s: got error %v, want one of h.1.mine", method, err)
		}
	}
	if reached < 8 {
		t.Errorf("only %d methods have broken", reached)
	}
}

// A panic in an Init, on any thread, or in the function that Build calls, is such an error as well.
func TestPanicsOfBuilding(t *testing.T) {
	for _, threads := range []int{1, 2} {
		for _, size := range []int{3, 1 << 18} {
			g := New(Float32, 1)
			g.SetThreads(threads)
			w := g.Root().Sub("h.0").Param("w", func(i int, _ *rand.Rand) float64 {
				if i == size-1 {
					panic("glass")
				}
				return 0
			}, size)
			if _, err := Compile(w.SumAll(), w); err == nil ||
				!strings.HasPrefix(err.Error(), "h.0.w: panic: glass at ") ||
				!strings.Contains(err.Error(), "build_test.go:") {
				t.Errorf("%d entries on %d threads: got error %v", size, threads, err)
			}
		}
	}
	_, err := Build(Float32, 1, func(g *Graph) error {
		g.Root().Param("x", Const(1), 2).In(g.Root().Sub("h.2.mlp"))
		panic("glass")
	})
	if err == nil || !strings.HasPrefix(err.Error(), "h.2.mlp: panic: glass at ") ||
		!strings.Contains(err.Error(), "build_test.go:") {
		t.Errorf("building: got error %v", err)
	}
	if _, err := Build(
		Float32, 1, func(g *Graph) error { g.Root().Sub("h.3").Failf("broken"); return nil },
	); err == nil || err.Error() != "h.3: broken" {
		t.Errorf("a graph that failed: got error %v", err)
	}
	if _, err := New(Float32, 1).BuildSibling(func(g *Graph) error {
		g.Root().Sub("h.3").Failf("broken")
		return nil
	}); err == nil {
		t.Error("a sibling that failed was accepted")
	}
	if _, err := Build(Float32, 1, nil); err == nil {
		t.Error("a nil build function was accepted")
	}
}

// Compile returns the first error, even if the failed expression is combined with others, or has no graph.
func TestTheFirstErrorSurvives(t *testing.T) {
	g := New(Float64, 1)
	x := g.Root().Param("x", Const(1), 2, 3)
	for want, y := range map[string]Expr{
		"h.0.w: no graph: create one with New, Build, Sibling " +
			"or Outline": Scope{path: "h.0.w"}.Param("w", Const(1), 2, 3).Square(),
		"h.1: no graph: create one with New, Build, Sibling or Outline": Expr{}.In(Scope{}.Sub("h.1")).Tanh(),
		"no graph: create one with New, Build, Sibling " +
			"or Outline": (*Graph)(nil).Root().Value("w", Const(1), 2, 3).Exp(),
		"tanh (): an operand is empty or belongs to another graph": Expr{}.Tanh().Softmax(),
	} {
		for _, z := range []Expr{
			y, y.Wrap(G.Exp(y.Node())), y.Mul(x), y.Reshape(6).Detach(), y.Join(x), y.In(g.Root()),
		} {
			if _, err := Compile(z.SumAll()); err == nil || err.Error() != want {
				t.Errorf("got error %v, want %s", err, want)
			}
		}
		if _, err := Compile(New(Float64, 1).Root().Param("x", Const(1), 2, 3).Mul(y)); err == nil ||
			err.Error() != want {
			t.Errorf("in another graph: got error %v, want %s", err, want)
		}
	}
	if err := g.Err(); err != nil {
		t.Errorf("the graph of the other expression has failed: %v", err)
	}
	for _, g := range []*Graph{nil, {}} {
		if _, err := g.BuildSibling(func(*Graph) error { return errors.New("built") }); g.Err() == nil ||
			g.Sibling().Err() == nil || err == nil {
			t.Errorf("a graph that New did not create: got error %v", g.Err())
		}
	}
}
