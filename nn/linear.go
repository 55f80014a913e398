package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Linear is the affine layer y = x·w + b: (n, in) → (n, out). w is (in, out), which is the paper's a·w and the layout
// of GPT-2's files; b is optional.
type Linear struct {
	Weight, Bias graph.Expr
	scope        graph.Scope
}

// NewLinear declares s.weight (in, Σ out) and, if bias is true, s.bias, which starts at 0. It is an Affine.
func NewLinear(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
	l := &Linear{scope: s, Weight: s.Param("weight", init, in, sum(out))}
	l.Weight.PackColumns(out...)
	if bias {
		l.Bias = s.Param("bias", graph.Const(0), sum(out))
	}
	return l
}

func sum(xs []int) (n int) {
	for _, x := range xs {
		n += x
	}
	return n
}

// Forward returns x·w + b.
func (l *Linear) Forward(x graph.Expr) (result graph.Expr) { // (n, in) → (n, out)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.Linear(x, l.Weight, l.Bias); ok {
		return y
	}
	y := x.MatMul(l.Weight) // x·w      (n, out)
	if l.hasBias() {
		y = y.Add(l.Bias) // x·w + b
	}
	return y
}

func (l *Linear) hasBias() bool { return l.Bias.Graph() != nil }

// Scaled is a layer with constant factors on its input and its output (the multipliers of Yang et al. 2022, table 8,
// and of Yang et al. 2023 on the branches of a block):
//
//	y = b·layer(a·x)
//
// Its gradients are the layer's at a·x for b·Δ, the one by x multiplied by a.
type Scaled struct {
	Layer
	In, Out float64 // a and b
	scope   graph.Scope
}

// NewScaled declares nothing. It is an error if a factor is not above 0.
func NewScaled(s graph.Scope, l Layer, in, out float64) *Scaled {
	checkFactor(s, in)
	checkFactor(s, out)
	return &Scaled{l, in, out, s}
}

func checkFactor(s graph.Scope, c float64) {
	if !(c > 0) || math.IsInf(c, 1) {
		s.Failf("factor %v: a finite number above 0 is needed", c)
	}
}

// Forward returns b·layer(a·x).
func (l *Scaled) Forward(x graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, x, &result)
	return times(l.Layer.Forward(times(x.In(l.scope), l.In)).In(l.scope), l.Out)
}

// Step is Forward for the newest tokens of every sequence.
func (l *Scaled) Step(x, at graph.Expr) (result graph.Expr) {
	defer recoverUnbuilt(l, x, &result)
	return times(step(l.Layer, times(x.In(l.scope), l.In), at).In(l.scope), l.Out)
}

// ScaledQueries is the layer of packed queries, keys and values [q | k | v] with a factor on the queries, and thereby
// on the scores:
//
//	[c·q | k | v],  c·q·kᵀ/√dρ
//
// With c = √(dρ₀/dρ) the scores are √dρ₀·q·kᵀ/dρ, attention by 1/dρ instead of 1/√dρ (Yang et al. 2022, definition
// 4.1).
type ScaledQueries struct {
	Layer
	Columns int // of the queries
	Factor  float64
	scope   graph.Scope
}

// NewScaledQueries returns affine with a factor on the first of three blocks of columns, which are queries, keys and
// values. Layers of fewer blocks are as before.
func NewScaledQueries(affine Affine, factor float64) Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
		checkFactor(s, factor)
		l := Make(Site{Scope: s}, func(Site) Layer { return affine(s, in, out, bias, init) })
		if l != nil && len(out) != 3 {
			return l
		}
		return &ScaledQueries{l, out[0], factor, s}
	}
}

// Forward returns [c·q | k | v].
func (l *ScaledQueries) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, q+k+v)
	defer recoverUnbuilt(l, x, &result)
	y := l.Layer.Forward(x).In(l.scope)
	width := 0
	if s := y.Shape(); len(s) == 2 {
		width = s[1]
	}
	return times(y.Columns(0, l.Columns), l.Factor).Join(y.Columns(l.Columns, width))
}

// times returns c·x, and x itself if c is 1.
func times(x graph.Expr, c float64) graph.Expr {
	if c == 1 {
		return x
	}
	if y, ok := fused.Scale(x, c); ok {
		return y
	}
	return x.Scale(c)
}
