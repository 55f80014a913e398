package optim

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// counting is a rule that counts its steps and sets one entry of the parameter.
type counting struct {
	whole bool
	calls *atomic.Int32
	bad   int     // index of the entry in its piece
	value float64 // its new value
}

func (c counting) State() (State, error) {
	return State{Name: "counting", Moments: 1, Whole: c.whole}, nil
}

func (c counting) Step(s Step) {
	if c.calls.Add(1); s.W.Len() != s.G.Len() || s.W.Len() != s.M.Len() || s.V.Len() != 0 || s.Name != "w" ||
		!c.whole && s.W.Len() > kernel.Grain {
		s.W.Set(0, math.NaN())
	}
	if c.bad < s.W.Len() {
		s.W.Set(c.bad, c.value)
	}
}

// A rule gets a parameter in pieces or as a whole, with as many gradients and moments, and a number that is not finite
// is noticed in any piece, in both types.
func TestPieces(t *testing.T) {
	const n = 2*kernel.Grain + 5
	for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
		for whole, pieces := range map[bool]int32{false: 3, true: 1} {
			for _, value := range []float64{1, math.NaN(), math.Inf(1), math.Inf(-1)} {
				for _, at := range []int{0, 4, kernel.Grain - 1} {
					w := graph.New(dtype, 1).Root().Param("w", graph.Const(2), n)
					p, err := graph.Compile(w.Square().SumAll(), w)
					rule := counting{whole, new(atomic.Int32), at, value}
					o, err2 := New([]graph.Expr{w}, rule)
					if err := errors.Join(err, err2); err != nil {
						t.Fatal(err)
					}
					if err := p.Run(); err != nil {
						t.Fatal(err)
					}
					_, err = o.Update(p, 0.1)
					if got := rule.calls.Load(); errors.Is(err, graph.ErrNotFinite) != (value != 1) || got != pieces {
						t.Errorf("%v, whole %t, entry %d of a piece %v: got %d pieces and error %v, want %d pieces",
							dtype, whole, at, value, got, err, pieces)
					}
				}
			}
		}
	}
}

// Without gradients a momentum falls to 0 and does not stay below the normal numbers.
func TestMomentumFallsToZero(t *testing.T) {
	for _, rule := range []Rule{SGD{Momentum: 0.9}, Lion{Beta1: 0.9, Beta2: 0.9}, Muon{Momentum: 0.9}} {
		m := []float32{1e-28, -1e-28, 0.5}
		for range 40 {
			rule.Step(Step{T: 1, Rate: 0.1, Scale: 1, M: graph.Tensor{F32: m},
				W: graph.Tensor{Shape: []int{1, 3}, F32: make([]float32, 3)}, G: graph.Tensor{F32: make([]float32, 3)}})
		}
		if !slices.Equal(m[:2], []float32{0, 0}) || !(m[2] > 0) {
			t.Errorf("%T: got momenta %v, want 0, 0 and more", rule, m)
		}
	}
}
