package reduce_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// machine is one of several that train the same model. One of its layers takes more than a bucket, and the borders of
// the parts lie inside it.
type machine struct {
	x      graph.Expr
	params []graph.Expr
	p      *graph.Program
	*optim.Optimizer
}

func newMachine() (m machine, err error) {
	g := graph.New(graph.Float32, 1)
	g.SetThreads(1)
	m.x = g.Root().Value("x", graph.Const(0), 1)
	var loss graph.Expr
	for i, shape := range [][]int{{100}, {300, 1000}, {3, 5}, {1100, 1000}, {7}, {20000}} {
		w := g.Root().Param(fmt.Sprint("w", i), graph.Normal(1), shape...)
		l := w.Mul(w).Mul(m.x).SumAll()
		if m.params = append(m.params, w); i > 0 {
			l = loss.Add(l)
		}
		loss = l
	}
	if m.p, err = graph.Compile(loss, m.params...); err != nil {
		return m, err
	}
	m.Optimizer, err = optim.New(m.params, optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	return m, err
}

// steps runs the steps of micro-batches from first to before last, out of four, and returns the norms.
func (m machine) steps(first, last int, said bool) (norms []float64, err error) {
	m.Tree(4)
	m.Clip = 1
	for step := range 2 {
		for micro := first; micro < last; micro++ {
			m.x.Tensor().Set(0, float64(1+step)/float64(3+micro))
			if micro == last-1 && said {
				if err := m.Last(m.p); err != nil {
					return nil, err
				}
			}
			if err := m.p.Run(); err != nil {
				return nil, err
			}
			if micro < last-1 {
				if err := m.Accumulate(m.p); err != nil {
					return nil, err
				}
			}
		}
		norm, err := m.Update(m.p, 0.01)
		if err != nil {
			return nil, err
		}
		norms = append(norms, norm)
	}
	return norms, nil
}

// Several machines end with the bits of one alone, whether gradients are sent during the backward pass or after it, and
// whether each machine has all moments or a part. The parts begin within a tensor, and Whole joins them again.
func TestAcross(t *testing.T) {
	alone, err := newMachine()
	if err != nil {
		t.Fatal(err)
	}
	norms, err := alone.steps(0, 4, true)
	if err != nil {
		t.Fatal(err)
	}
	moments := map[string][]float32{}
	alone.Moments(func(name string, m, v graph.Tensor) { moments[name] = append(slices.Clone(m.F32), v.F32...) })
	for _, tc := range []struct {
		ranks       int
		said, shard bool
	}{{2, true, false}, {2, false, false}, {4, true, true}, {2, false, true}} {
		kept := make([]int, tc.ranks)
		err := dist.Run(t.Context(), tc.ranks, func(g dist.Group) error {
			m, err := newMachine()
			if err != nil {
				return err
			}
			m.Across(g)
			if tc.shard {
				if err := m.Shard(m.p); err != nil {
					return err
				}
			}
			n := 4 / tc.ranks
			got, err := m.steps(g.Rank()*n, (g.Rank()+1)*n, tc.said)
			if err != nil {
				return err
			}
			if !slices.Equal(got, norms) {
				return fmt.Errorf("norms %v, want %v", got, norms)
			}
			for i, w := range m.params {
				if !slices.Equal(w.Tensor().F32, alone.params[i].Tensor().F32) {
					return fmt.Errorf("another %s", w.Name())
				}
			}
			m.Moments(func(name string, mean, square graph.Tensor) {
				kept[g.Rank()] += mean.Len()
				if tc.shard {
					full, err1 := m.Whole(name, mean)
					also, err2 := m.Whole(name, square)
					if err1 != nil || err2 != nil {
						err = fmt.Errorf("%s: %v, %v", name, err1, err2)
						return
					}
					mean, square = full, also
				}
				if !slices.Equal(append(slices.Clone(mean.F32), square.F32...), moments[name]) {
					err = fmt.Errorf("another moment of %s", name)
				}
			})
			return err
		})
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
		}
		all := 100 + 300_000 + 15 + 1_100_000 + 7 + 20_000
		least, most := slices.Min(kept), slices.Max(kept)
		if tc.shard && (least < all/tc.ranks*9/10 || most > all/tc.ranks*11/10) || !tc.shard && least != all {
			t.Errorf("%+v: from %d to %d of %d moments on a machine", tc, least, most, all)
		}
	}
}
