package reduce

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// pairOfMachines is the first of two machines, whose other one adds nothing. The call after a number of them fails.
type pairOfMachines struct{ left int }

var errGone = errors.New("the other machine is gone")

func (m *pairOfMachines) call() error {
	if m.left--; m.left == -1 {
		return errGone
	}
	return nil
}

func (m *pairOfMachines) Size() int                      { return 2 }
func (m *pairOfMachines) Part() int                      { return 0 }
func (m *pairOfMachines) Sum([]float32) error            { return m.call() }
func (m *pairOfMachines) Scatter([]float32, []int) error { return m.call() }
func (m *pairOfMachines) Gather([]float32, []int) error  { return m.call() }

// small returns a program with gradients of w (3, 5), b (1) and of another parameter, and Gradients of w and b.
func small(t *testing.T, dtype graph.Dtype) (*Gradients, *graph.Program, []graph.Expr) {
	t.Helper()
	s := graph.New(dtype, 1).Root()
	w, b := s.Param("w", graph.Normal(1), 3, 5), s.Param("b", graph.Normal(1), 1)
	other := s.Param("other", graph.Normal(1), 2)
	p, err := graph.Compile(w.Square().SumAll().Add(b.Square().SumAll()).Add(other.SumAll()), w, other, b)
	g, err2 := New("mine", []graph.Expr{w, b})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return g, p, []graph.Expr{w, b}
}

// If a call of another machine fails, the step has its error, and so has the next one if the step was given up. No
// update happens unless only the updated parameters cannot be fetched.
func TestMachinesFail(t *testing.T) {
	for _, said := range []bool{false, true} {
		for _, shard := range []bool{false, true} {
			for _, given := range []bool{false, true} {
				for calls := 0; ; calls++ {
					g, p, params := small(t, graph.Float32)
					m := &pairOfMachines{left: calls}
					g.Across(m)
					if shard {
						if err := g.Shard(p); err != nil {
							t.Fatal(err)
						}
					}
					w, updates := params[0].Tensor().Floats(), 0
					norm, err := steps(g, p, said, given, func(_, _ int, x, _ graph.Tensor, _ float64) bool {
						updates++
						return true
					})
					name := fmt.Sprintf("said %t, shard %t, given up %t, %d calls", said, shard, given, calls)
					if m.left >= 0 {
						if err != nil || updates != 2 || !(norm > 0) {
							t.Errorf("%s: got %v, norm %v and %d updates, want 2", name, err, norm, updates)
						}
						break
					}
					if !errors.Is(err, errGone) || !strings.HasPrefix(err.Error(), "mine: ") {
						t.Errorf("%s: got error %v", name, err)
					}
					if !slices.Equal(w, params[0].Tensor().Floats()) {
						t.Errorf("%s: w has changed", name)
					}
				}
			}
		}
	}
}

// steps does a step of two micro-batches, after one that is given up where that is asked for.
func steps(g *Gradients, p *graph.Program, said, given bool, update Update) (norm float64, err error) {
	for _, complete := range []bool{false, true} {
		if !complete && !given {
			continue
		}
		if err := errors.Join(p.Run(), g.Accumulate(p)); err != nil {
			return 0, err
		}
		if said {
			if err := g.Last(p); err != nil {
				return 0, err
			}
		}
		if err := p.Run(); err != nil {
			return 0, err
		}
		if !complete {
			g.Forget()
		}
	}
	return g.Apply(p, 0, update)
}

// Several machines need float32, a program with the gradients of all parameters, and finite gradients.
func TestMachinesRefuse(t *testing.T) {
	wide, p64, _ := small(t, graph.Float64)
	g, p, params := small(t, graph.Float32)
	forward, err := graph.Compile(params[0].SumAll())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p64.Run(), forward.Run()); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*Gradients{wide, g} {
		g.Across(&pairOfMachines{left: math.MaxInt})
	}
	const type64, none = "mine: w has type float64, want float32 across " +
		"machines", "mine: got gradients of 0 parameters, want 2"
	for i, c := range []struct {
		err  error
		want string
	}{
		{wide.Accumulate(p64), type64}, {wide.Last(p64), type64}, {wide.Shard(p64), type64},
		{g.Accumulate(forward), none}, {g.Last(forward), none}, {g.Shard(forward), none},
	} {
		if c.err == nil || !strings.HasPrefix(c.err.Error(), c.want) {
			t.Errorf("%d: got error %v, want %s", i, c.err, c.want)
		}
	}
	if err := g.Shard(p); err != nil {
		t.Fatal(err)
	}
	params[1].Tensor().Set(0, math.Inf(1))
	params[0].Tensor().Set(2, math.NaN())
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	_, err = g.Apply(p, 0, func(int, int, graph.Tensor, graph.Tensor, float64) bool { t.Error("updated"); return true })
	if !errors.Is(err, graph.ErrNotFinite) || !strings.Contains(err.Error(), "the gradient of ") {
		t.Errorf("got error %v, want one of a gradient", err)
	}
}

// A machine alone keeps its moments; one of several cuts them once, also the moments of a single number, and Whole
// joins only such parts.
func TestShardOnce(t *testing.T) {
	g, p, _ := small(t, graph.Float32)
	moments := [][]graph.Tensor{{g.Zeros(0), {}}, {g.Zeros(1)}}
	if err := g.Shard(p, moments...); err != nil || moments[0][0].Len() != 15 || g.First("b", moments[1][0]) != 0 {
		t.Errorf("alone: got %v and %d moments, want 15", err, moments[0][0].Len())
	}
	if _, err := g.Whole("w", moments[0][0]); err == nil ||
		err.Error() != "mine: w: got 15 numbers, want this machine's part of a moment" {
		t.Errorf("alone: got error %v", err)
	}
	g.Across(&pairOfMachines{left: math.MaxInt})
	for range 2 {
		if err := g.Shard(p, append(moments, nil)...); err != nil || moments[0][1].Len() != 0 {
			t.Fatalf("got error %v, and %d moments of a rule without", err, moments[0][1].Len())
		}
	}
	for i, m := range moments {
		m := m[0]
		if m.Len() != g.own[i].to-g.own[i].from || m.Len() != g.Zeros(i).Len() {
			t.Errorf("parameter %d: got %d moments of the part %+v", i, m.Len(), g.own[i])
		}
	}
	for name, m := range map[string]graph.Tensor{"w": {F32: make([]float32, 99)}, "other": {}} {
		if _, err := g.Whole(name, m); err == nil ||
			!strings.Contains(err.Error(), "want this machine's part of a moment") {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
