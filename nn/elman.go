package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Elman is the simple recurrent layer of CS 224n (4)–(6), in rows and with a bias:
//
//	h_t = tanh(h_{t−1}·W + x_t·U + b),  h_0 = 0
//
// over every sequence separately. A token depends on the previous one only through W, and therefore on a token k before
// it through k products and k activations. These k steps must be computed one after the other, and their k factors W∘(1
// − h²) make the gradient vanish or grow. A stack of these over token embeddings, with no positions, and with the
// embeddings as a head, is the language model of (19), (20). A token depends only on those before it, and their order
// takes the place of positions: the site's Mask, Positions, Rotary, Scores, Dropout, Act, MLP and Norm are ignored.
type Elman struct {
	Input  Layer      // x·U + b
	Weight graph.Expr // W  (d, d)
	start  graph.Expr // h_0 = 0  (B, d)
	batch  int
	tokens int
	width  int
	state  *fused.ElmanCache
	scope  graph.Scope
}

// NewElman declares c_input (d, d), from N(0, 1/d), which preserves the size of its input, and weight, from N(0, 1/4d),
// with which the state halves from token to token.
func NewElman(at Site) *Elman {
	at.refuseStream("elman")
	d := at.Embd
	l := &Elman{batch: at.Batch, tokens: at.Context, width: d, scope: at.Scope}
	l.Input = at.affine("c_input", d, []int{d}, at.Bias, graph.Normal(1/math.Sqrt(float64(d))))
	l.Weight = at.Scope.Param("weight", graph.Normal(0.5/math.Sqrt(float64(d))), d, d)
	l.start = at.Value("start", graph.Const(0), at.Batch, d)
	l.state = cacheAt(at.Caches, at.Path(), func() *fused.ElmanCache { return fused.NewElmanCache(at.Batch, d) })
	return l
}

// Forward computes the states of every sequence.
func (l *Elman) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	a := l.Input.Forward(x).In(l.scope) // x·U + b   (B·T, d)
	if h, ok := fused.Elman(a, l.Weight, l.batch); ok {
		return h
	}
	moments := a.Reshape(l.batch, l.tokens*l.width) // a row for every sequence   (B, T·d)
	h, states := l.start.In(l.scope), make([]graph.Expr, l.tokens)
	for t := range states {
		x := moments.Columns(t*l.width, (t+1)*l.width) // x_t·U + b
		h = h.MatMul(l.Weight).Add(x).Tanh()           // h_t = tanh(h_{t−1}·W + x_t·U + b)   (B, d)   (4)
		states[t] = h
	}
	return states[0].Join(states[1:]...).Reshape(l.batch*l.tokens, l.width)
}

// Step continues from its state, which summarises all earlier tokens. at is the number of these tokens; 0 clears the
// state, and any other number fails when it runs.
func (l *Elman) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return fused.CachedElman(l.Input.Forward(x).In(l.scope), l.Weight, at, l.state)
}
