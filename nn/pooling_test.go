package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// places returns an index into each sequence, the last token of the first.
func places(at Site) graph.Expr {
	x := at.Ints("places", at.Batch, at.Context, -1)
	for b := range x.Ints() {
		x.Ints()[b] = (at.Context - 1 + 3*b) % at.Context
	}
	return x
}

// The mean of the tokens does not depend on their order, one token is its own mean, and sequences do not affect one
// another.
func TestI61Pooling(t *testing.T) {
	const batch, context, d = 3, 5, 4
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: batch, Context: context, Embd: d}}
		x, back := g.Root().Value("x", graph.Normal(1), batch*context, d), g.Root().Ints("back", batch*context, batch*context, -1)
		for i := range back.Ints() {
			back.Ints()[i] = i/context*context + (context - 1 - i%context)
		}
		ids := places(at)
		mean, turned := NewMeanTokens(at).Forward(x), NewMeanTokens(at).Forward(x.Gather(back))
		one := NewGatherTokens(at, ids).Forward(x)
		m, r, o := run(t, mean).Value().Clone().F64, run(t, turned).Value().Clone().F64, run(t, one).Value().F64 // programs share memory
		for b := range batch {
			for j := range d {
				if got := o[b*d+j]; got != x.Tensor().F64[(b*context+ids.Ints()[b])*d+j] {
					t.Errorf("kernels %t: token %d of sequence %d, feature %d: got %v", kernels, ids.Ints()[b], b, j, got)
				}
				if i := b*d + j; !(math.Abs(m[i]-r[i]) <= 1e-15) {
					t.Errorf("kernels %t: the mean is %v, in the other order %v", kernels, m[i], r[i])
				}
			}
		}
		first := make([]float64, 0, d)
		for j := range d {
			first = append(first, 0)
			for i := range context {
				first[j] += x.Tensor().F64[i*d+j] / context
				x.Tensor().F64[i*d+j] += 7
			}
		}
		moved := run(t, mean).Value().F64
		for i := range m {
			if want := m[i]; i < d && !(math.Abs(moved[i]-first[i]-7) <= 1e-14) || i >= d && moved[i] != want {
				t.Errorf("kernels %t, entry %d: got %v after moving the first sequence by 7, before %v", kernels, i, moved[i], want)
			}
		}
	}
}

// An index must be in its sequence, in both forms.
func TestI61Places(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: 2, Context: 5, Embd: 3}}
		ids := at.Ints("at", 2, 5, -1)
		p, err := graph.Compile(NewGatherTokens(at, ids).Forward(g.Root().Value("x", graph.Normal(1), 10, 3)))
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range []int{-1, 5} {
			ids.Ints()[1] = place
			if err := p.Run(); err == nil || !strings.Contains(err.Error(), "pool.at[1] is ") || !strings.Contains(err.Error(), "not in 0 … 4") {
				t.Errorf("kernels %t, place %d: got %v", kernels, place, err)
			}
		}
	}
}

// A number of tokens that differs from the site's is an error of the layer, in both forms.
func TestPoolingOfOtherTokens(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for want, pool := range map[string]func(at Site, x graph.Expr) graph.Expr{
			"pool: mean of tokens x (15, 3): ": func(at Site, x graph.Expr) graph.Expr { return NewMeanTokens(at).Forward(x) },
			"pool: gather tokens x (15, 3), ":  func(at Site, x graph.Expr) graph.Expr { return NewGatherTokens(at, places(at)).Forward(x) },
		} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: 2, Context: 5, Embd: 3}}
			_, err := graph.Compile(pool(at, g.Root().Value("x", graph.Normal(1), 15, 3)))
			if err == nil || kernels && !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "pool: ") {
				t.Errorf("kernels %t: got %v, want %s…", kernels, err, want)
			}
		}
	}
}
