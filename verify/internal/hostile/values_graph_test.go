package hostile

import (
	"math/rand/v2"
	"reflect"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/graph/optim/reduce"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// table builds the valid values of types whose zero value or constructor is not enough.
type table map[reflect.Type]func(w *world) any

// values returns the table of all packages.
func values() table {
	v := table{}
	graphValues(v)
	gptValues(v)
	handValues[float64](v)
	handValues[complex128](v)
	return v
}

func define[T any](v table, make func(w *world) T) {
	v[reflect.TypeFor[T]()] = func(w *world) any { return make(w) }
}

func graphValues(v table) {
	define(v, func(*world) int { return 2 })
	define(v, func(*world) int64 { return 1 << 30 })
	define(v, func(*world) float64 { return 0.5 })
	define(v, func(*world) string { return "x" })
	define(v, func(*world) []float64 { return []float64{1, 2} })
	define(v, func(*world) []int { return []int{1, 0} })
	define(v, func(*world) graph.Dtype { return graph.Float64 })
	define(v, func(*world) stored.Packing { return stored.BF16 })
	define(v, func(*world) graph.Init { return graph.Normal(1) })
	define(v, func(*world) *rand.Rand { return rand.New(rand.NewPCG(1, 2)) })
	define(v, func(*world) *graph.Graph { return graph.New(graph.Float64, 1) })
	define(v, func(w *world) graph.Scope { return get[*graph.Graph](w).Root().Sub("h.0") })
	define(v, func(w *world) graph.Expr { return get[graph.Scope](w).Param("x", graph.Normal(1), 4, 4) })
	define(v, func(w *world) []graph.Expr { return []graph.Expr{get[graph.Expr](w)} })
	define(v, func(w *world) graph.Tensor { return get[graph.Expr](w).Tensor() })
	define(v, func(w *world) fused.AttentionShape {
		return fused.AttentionShape{Batch: 2, Context: 2, Heads: 1, QK: 1, V: 2}
	})
	define(v, func(w *world) fused.LinearShape {
		return fused.LinearShape{AttentionShape: get[fused.AttentionShape](w), Map: fused.EluPlusOne()}
	})
	define(v, func(w *world) fused.CrossShape {
		return fused.CrossShape{Batch: 2, Queries: 2, Keys: 2, Heads: 2, QK: 1, V: 1}
	})
	define(v, func(w *world) fused.LatentShape {
		return fused.LatentShape{Batch: 2, Context: 2, Heads: 1, QK: 2, V: 2, Latent: 2, Rotary: 1}
	})
	define(v, func(w *world) *graph.Program {
		x := get[graph.Expr](w)
		p, err := graph.Compile(x.Square().SumAll(), x)
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			panic(err)
		}
		return p
	})
	define(v, func(w *world) nn.Dims {
		return nn.Dims{Batch: 2, Context: 2, Embd: 4, Heads: 2, QK: 2, V: 2, Inner: 4, Blocks: 1}
	})
	define(v, func(w *world) nn.Site {
		d, s := get[nn.Dims](w), get[graph.Scope](w)
		return nn.Site{
			Scope:     s,
			Dims:      d,
			Caches:    nn.Caches{},
			Style:     nn.Style{Eps: 1e-5, Bias: true},
			Sublayers: nn.Sublayers{Act: nn.GELU{}, Experts: nn.Experts{Routing: get[nn.Routing](w)}},
			Attending: nn.Attending{Positions: ids(w), Mask: nn.NewMask(s.Sub("m"), d, nn.Causal{})},
		}
	})
	define(v, func(w *world) nn.Routing { return nn.Routing{Router: get[fused.Router](w)} })
	define(v, func(w *world) fused.Router { return fused.Router{Experts: 2, Active: 1} })
	define(v, func(w *world) nn.Attention { return func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) } })
	define(v, func(w *world) nn.Affine { return nn.NewLinear })
	define(v, func(w *world) nn.Layer { return nn.GELU{} })
	define(v, func(w *world) func(nn.Site) nn.Layer { return get[nn.Attention](w) })
	define(v, func(w *world) nn.Visibility { return nn.Causal{} })
	define(v, func(w *world) nn.Bias { return nn.NewALiBi(2) })
	define(v, func(w *world) *nn.Memory {
		return nn.NewMemory(get[graph.Scope](w).Sub("memory"), w.matrix("z", 4, 4), 2, 2, 2, []int{1, 2})
	})
	define(v, func(w *world) nn.Padding { return nn.Padding{Lengths: []int{1, 2}} })
	define(v, func(w *world) nn.SinkWindow { return nn.SinkWindow{Width: 1} })
	define(v, func(w *world) nn.Window { return nn.Window{Width: 1} })
	define(v, func(w *world) nn.BigBird { return nn.BigBird{Width: 1, Random: 1} })
	define(v, func(w *world) nn.Dilated { return nn.Dilated{Width: 2, Dilation: []int{1, 1}} })
	define(v, func(w *world) optim.Rule { return optim.AdamW{Beta1: 0.9, Beta2: 0.99} })
	define(v, func(w *world) *reduce.Gradients {
		g, err := reduce.New("adamw", get[[]graph.Expr](w))
		if err == nil {
			err = g.Accumulate(get[*graph.Program](w))
		}
		if err != nil {
			panic(err)
		}
		return g
	})
}

// ids returns the ids of four tokens.
func ids(w *world) graph.Expr {
	s := get[graph.Scope](w)
	if x, ok := s.Graph().Leaf(s.Path() + ".ids"); ok {
		return x
	}
	x := s.Ints("ids", 4, 2, -1)
	copy(x.Ints(), []int{0, 1, 0, 1})
	return x
}
