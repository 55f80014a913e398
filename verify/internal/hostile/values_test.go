package hostile

import (
	"io"
	"math"
	"math/rand/v2"
	"reflect"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// world is a graph to call in, with values of every kind: of each type the first is right, the others are not.
type world struct {
	values map[reflect.Type][]reflect.Value
}

func (w *world) add(values ...any) {
	for _, v := range values {
		r := reflect.ValueOf(v)
		w.values[r.Type()] = append(w.values[r.Type()], r)
	}
}

func newWorld(kernels bool) *world {
	w := &world{map[reflect.Type][]reflect.Value{}}
	g := graph.New(graph.Float64, 1)
	g.Kernels = kernels
	s := g.Root().Sub("h.0")
	d := nn.Dims{Batch: 2, Context: 2, Embd: 4, Heads: 2, QK: 2, V: 2, Inner: 4, Blocks: 1}
	x, ids := s.Param("x", graph.Normal(1), 4, 4), s.Ints("ids", 4, 4, -1)
	at := nn.Site{Scope: s, Dims: d, Eps: 1e-5, Act: nn.GELU{}, Bias: true, Positions: ids, Mask: nn.NewMask(s.Sub("m"), d, nn.Causal{}), Caches: nn.Caches{}}
	failed := graph.New(graph.Float64, 1).Root()
	failed.Failf("failed before")
	p, _ := graph.Compile(x.Square().SumAll(), x)
	w.add(g, s, x, at, d, p, graph.Scope{}, failed, nn.Site{}, nn.Dims{}, nn.Dims{Batch: -1, Context: 100, Heads: -3}, &graph.Graph{}, (*graph.Graph)(nil), (*graph.Program)(nil), &graph.Program{})
	w.add(graph.Expr{}, ids, x.SumAll(), s.Param("row", graph.Const(1), 4), s.Value("wide", graph.Const(0), 3, 5), s.Value("cube", graph.Const(0), 2, 2, 2),
		graph.New(graph.Float32, 1).Root().Param("other", graph.Const(1), 4, 4), failed.Param("x", graph.Const(1), 2), graph.Outline(graph.Float64).Root().Param("o", graph.Const(1), 2, 2))
	w.add(2, 0, -1, 1, 7, 1<<12, 0.5, 0., -1., math.NaN(), math.Inf(1), "x", "", "h.0", "%s", true, false, uint64(1), uint64(math.MaxUint64))
	w.add([]int{0, 1}, []int(nil), []int{-1}, []int{9, 1 << 12}, []float64{1}, []float64(nil), graph.Float64, graph.Float32, graph.Dtype{})
	w.add(graph.Const(1), graph.Init(nil), graph.Init(func(int, *rand.Rand) float64 { panic("glass") }), nn.Affine(nn.NewLinear), nn.Affine(nil))
	w.add(graph.AttentionShape{Batch: 2, Context: 2, Heads: 1, QK: 1, V: 2}, graph.AttentionShape{}, graph.CrossShape{Batch: 2, Queries: 2, Keys: 2, Heads: 2, QK: 2, V: 2}, graph.CrossShape{Batch: -1})
	w.add(x.Tensor(), graph.Tensor{}, graph.Tensor{Shape: []int{9, 9}, F64: []float64{1}}, []graph.Expr{x}, []graph.Expr(nil), []graph.Expr{{}, ids})
	w.add(nn.Attention(func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }), nn.Attention(nil), nn.Attention(func(nn.Site) nn.Layer { return nil }))
	return w
}

// of are the values of a type: those of the table, or for any other type its zero value; for an interface all values
// that fit, and nil; for a function nil and one that returns zero values.
func (w *world) of(t reflect.Type) (list []reflect.Value) {
	switch {
	case len(w.values[t]) > 0:
		return w.values[t]
	case t == reflect.TypeFor[io.Writer]():
		return []reflect.Value{reflect.ValueOf(io.Discard), reflect.Zero(t)}
	case t.Kind() == reflect.Interface:
		for _, v := range []any{nn.GELU{}, nn.Causal{}, nn.Window{}, nn.Padding{}, nn.Dilated{}, nn.BigBird{Width: -1}, nn.All{nil}, nn.ALiBi{}, &nn.MLP{}, &nn.RoPE{}, &graph.KVCache{}} {
			if reflect.TypeOf(v).Implements(t) {
				list = append(list, reflect.ValueOf(v))
			}
		}
	case t.Kind() == reflect.Func:
		list = append(list, reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
			for i := range t.NumOut() {
				out = append(out, reflect.Zero(t.Out(i)))
			}
			return out
		}))
	case t.Kind() == reflect.Pointer:
		list = append(list, reflect.New(t.Elem()))
	}
	return append(list, reflect.Zero(t))
}
