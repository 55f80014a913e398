package nn

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// convTaps is the number of tokens that a short convolution combines, as in Allen-Zhu (2025).
const convTaps = 4

// ShortConv is a short causal convolution over the tokens of a sequence, of every feature by itself, as for queries,
// keys and values in So et al. (2021):
//
//	y_t = Σ_{i<4} w_i ∘ x_{t−i},  x_t = 0 for t < 0
//
// A token thus sees the three tokens before it at once, without attention.
type ShortConv struct {
	Weight        graph.Expr // [w_0 | w_1 | w_2 | w_3]  (4d)
	width, length int
	cache         *fused.ConvCache
	state         *State // the last three tokens
	batch         int
	scope         graph.Scope
}

// NewShortConv declares weight for width features. It starts as the identity: w_0 is 1 and the others are 0.
func NewShortConv(at Site, width int) *ShortConv {
	return newShortConv(at, width, func(i int, _ *rand.Rand) float64 {
		if i < width {
			return 1
		}
		return 0
	})
}

func newShortConv(at Site, width int, init graph.Init) *ShortConv {
	return &ShortConv{
		state: at.state((convTaps - 1) * width), batch: at.Batch,
		Weight: at.Param("weight", init, convTaps*width), width: width, length: at.Context, scope: at.Scope,
		cache: cacheAt(at.Caches, at.Path(), func() *fused.ConvCache {
			return fused.NewConvCache(at.Batch, width, convTaps)
		}),
	}
}

// Forward combines the tokens of every sequence.
func (l *ShortConv) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if l.state == nil {
		return l.of(x, l.length)
	}
	x = rows(l.state.Before.In(l.scope), x, l.batch) // (B·(3+T), d)
	l.state.After = lastRows(x, l.batch, convTaps-1)
	y := l.of(x, convTaps-1+l.length)
	return lastRows(y, l.batch, l.length).Reshape(l.batch*l.length, l.width)
}

// of combines the tokens of sequences of length tokens.
func (l *ShortConv) of(x graph.Expr, length int) graph.Expr {
	if y, ok := fused.Convolve(x, l.Weight, length); ok {
		return y
	}
	w := l.Weight.Reshape(1, convTaps*l.width)
	y := x.Mul(w.Columns(0, l.width)) // w_0 ∘ x_t
	for i := 1; i < min(convTaps, length); i++ {
		y = y.Add(x.Delay(i, length).Mul(w.Columns(i*l.width, (i+1)*l.width))) // + w_i ∘ x_{t−i}   (B·T, d)
	}
	return y
}

// Step continues from the last three tokens, which it has stored. at is the number of earlier tokens; 0 begins again,
// and any other number fails when it runs.
func (l *ShortConv) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return fused.CachedConvolve(x.In(l.scope), l.Weight, at, l.cache)
}

// Canon is a ShortConv beside the residual stream (Allen-Zhu 2025, the Canon layers):
//
//	y_t = x_t + Σ_{i<4} w_i ∘ x_{t−i}
type Canon struct{ conv *ShortConv }

// NewCanon declares weight for width features. It starts as the identity, with weights of 0.
func NewCanon(at Site, width int) *Canon { return &Canon{newShortConv(at, width, graph.Const(0))} }

// Forward adds the convolution of x to x.
func (l *Canon) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return x.In(l.conv.scope).Add(l.conv.Forward(x))
}

// Step is Forward for the newest tokens of every sequence, as in ShortConv.
func (l *Canon) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return x.In(l.conv.scope).Add(l.conv.Step(x, at))
}

// ConvPlace is a place of a short convolution in a block.
type ConvPlace string

// The places of the publication, A to D.
const (
	ConvAttention   ConvPlace = "a" // the input of the attention
	ConvProjections ConvPlace = "b" // its queries, keys and values
	ConvMLP         ConvPlace = "c" // the input of the MLP
	ConvInner       ConvPlace = "d" // the features inside the MLP, before the activation
)

// Convs builds the short convolution of width features at a place of a block. It returns nil where there is none.
type Convs func(at Site, place ConvPlace, width int) Layer

// optional is a layer that keeps the shape of its input, or the identity if it has no Layer.
type optional struct {
	Layer
	scope graph.Scope
}

// conv returns the site's short convolution at a place.
func (s Site) conv(place ConvPlace, width int) (l optional) {
	if s.Conv == nil {
		return l
	}
	s = s.At("conv")
	s.Try(func() { l.Layer = s.Conv(s, place, width) })
	l.scope = s.Scope
	return l
}

// Forward returns the result of the Layer.
func (l optional) Forward(x graph.Expr) graph.Expr {
	if l.Layer == nil {
		return x
	}
	return shaped(l.scope, x.Shape(), func() graph.Expr { return l.Layer.Forward(x) })
}

// stepAt returns the Step of the Layer as a function.
func (l optional) stepAt(at graph.Expr) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		if l.Layer == nil {
			return x
		}
		return shaped(l.scope, x.Shape(), func() graph.Expr { return step(l.Layer, x, at) })
	}
}

// convolution is the link of a short convolution of queries, keys and values.
type convolution struct{ optional }

// Forward returns the convolution of all tokens.
func (l convolution) Forward(in Inside) graph.Expr { return l.optional.Forward(in.QKV) }

// Step returns the convolution of the newest tokens.
func (l convolution) Step(in Inside, at graph.Expr) graph.Expr { return l.stepAt(at)(in.QKV) }

// convolved is a layer after a short convolution.
type convolved struct {
	Layer
	conv  optional
	scope graph.Scope
}

// after returns the layer that build makes, after the site's short convolution at a place.
func (s Site) after(place ConvPlace, build func(Site) Layer) Layer {
	conv := s.conv(place, s.Embd)
	l := Make(s, build)
	if conv.Layer == nil {
		return l
	}
	return &convolved{l, conv, s.Scope}
}

// Forward returns layer(conv(x)).
func (l *convolved) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, x, &result)
	return l.Layer.Forward(l.conv.Forward(x).In(l.scope))
}

// Step is Forward for the newest tokens of every sequence.
func (l *convolved) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, x, &result)
	return step(l.Layer, l.conv.stepAt(at)(x).In(l.scope), at)
}
