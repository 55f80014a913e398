package reduce_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
)

// machine is one of several that train the same model.
type machine struct {
	micro  int // micro-batches of a step, of all machines together
	x      graph.Expr
	params []graph.Expr
	p      *graph.Program
	*optim.Optimizer
}

// large returns shapes of which one takes more than a bucket, so that the borders of the parts lie inside it.
func large() [][]int { return [][]int{{100}, {30, 1000}, {3, 5}, {1050, 1000}, {7}, {20000}} }

func newMachine(micro int, shapes [][]int) (m machine, err error) {
	m.micro = micro
	g := graph.New(graph.Float32, 1)
	g.SetThreads(1)
	m.x = g.Root().Value("x", graph.Const(0), 1)
	var loss graph.Expr
	for i, shape := range shapes {
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

// steps runs two steps of the micro-batches from first to before last, and returns the norms.
func (m machine) steps(first, last int, said bool) (norms []float64, err error) {
	m.Tree(m.micro)
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
	alone, err := newMachine(4, large())
	if err != nil {
		t.Fatal(err)
	}
	norms, err := alone.steps(0, 4, true)
	if err != nil {
		t.Fatal(err)
	}
	moments := map[string][]float32{}
	alone.Moments(func(kept, param string, t graph.Tensor) { moments[kept+param] = slices.Clone(t.F32) })
	for _, tc := range []struct {
		ranks       int
		said, shard bool
	}{{2, true, false}, {2, false, false}, {4, true, true}, {2, false, true}} {
		kept := make([]int, tc.ranks)
		err := dist.Run(t.Context(), tc.ranks, func(g dist.Group) error {
			m, err := newMachine(4, large())
			if err != nil {
				return err
			}
			m.Across(g)
			if tc.shard {
				if err := errors.Join(m.Shard(m.p), m.Shard(m.p)); err != nil { // the second has nothing to cut
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
			m.Moments(func(name, param string, part graph.Tensor) {
				kept[g.Rank()] += part.Len()
				full := part
				if tc.shard {
					var failed error
					if full, failed = m.Whole(param, part); failed != nil {
						err = fmt.Errorf("%s of %s: %v", name, param, failed)
						return
					}
					if from := m.First(param, part); !slices.Equal(part.F32, full.F32[from:from+part.Len()]) {
						err = fmt.Errorf("%s of %s does not begin at %d", name, param, from)
					}
				}
				if !slices.Equal(full.F32, moments[name+param]) {
					err = fmt.Errorf("another %s of %s", name, param)
				}
			})
			return err
		})
		if err != nil {
			t.Errorf("%+v: %v", tc, err)
		}
		all := 2 * (100 + 30_000 + 15 + 1_050_000 + 7 + 20_000)
		least, most := slices.Min(kept), slices.Max(kept)
		if tc.shard && (least < all/tc.ranks*9/10 || most > all/tc.ranks*11/10) || !tc.shard && least != all {
			t.Errorf("%+v: from %d to %d of %d moments on a machine", tc, least, most, all)
		}
	}
}

// The same holds if a machine has several sums when its last micro-batch begins, and if a function sees the gradients,
// which are the gradients of all machines.
func TestAcrossSeveralSums(t *testing.T) {
	small := [][]int{{3, 5}, {7}}
	seen := func(m machine) *[]float64 {
		list := new([]float64)
		m.Before(func(_ []graph.Expr, grads []graph.Tensor) error {
			*list = append(append(*list, grads[0].Floats()...), grads[1].Floats()...)
			return nil
		})
		return list
	}
	alone, err := newMachine(8, small)
	if err != nil {
		t.Fatal(err)
	}
	want := seen(alone)
	if _, err := alone.steps(0, 8, true); err != nil {
		t.Fatal(err)
	}
	for _, said := range []bool{false, true} {
		for _, shard := range []bool{false, true} {
			err := dist.Run(t.Context(), 2, func(g dist.Group) error {
				m, err := newMachine(8, small)
				if err != nil {
					return err
				}
				got := seen(m)
				m.Across(g)
				if shard {
					err = m.Shard(m.p)
				}
				if err == nil {
					_, err = m.steps(4*g.Rank(), 4*g.Rank()+4, said)
				}
				if err != nil {
					return err
				}
				if !slices.Equal(*got, *want) {
					return fmt.Errorf("gradients %v, want %v", *got, *want)
				}
				for i, w := range m.params {
					if !slices.Equal(w.Tensor().F32, alone.params[i].Tensor().F32) {
						return fmt.Errorf("another %s", w.Name())
					}
				}
				return nil
			})
			if err != nil {
				t.Errorf("said %t, shard %t: %v", said, shard, err)
			}
		}
	}
}
