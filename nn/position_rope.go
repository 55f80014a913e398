package nn

import (
	"math"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// RoPE is rotary position embedding (Xu (47)–(56)): the features 2i and 2i+1 of a query or a key at position t are a
// point in the plane, rotated by an angle that depends on the pair,
//
//	(a, b) → (a·cos φ − b·sin φ, a·sin φ + b·cos φ),  φ = t·θ^(−2i/size)
//
// A rotation preserves lengths, and only the difference of two rotations remains in a product: q·k depends on the
// distance of the tokens and not on their positions. RoPE has no parameters. Δ is rotated by −φ. Xu's (56) multiplies a
// row with the matrix for columns, and has one angle for all pairs (errata X2); θ is usually 10000 (errata X3).
type RoPE struct {
	Cos, Sin  graph.Expr // (T, size/2)
	positions graph.Expr
	size      int
	embd      int
	scope     graph.Scope
}

// NewRoPE returns a Rotary for groups of size columns, and declares the values cos and sin. The positions of the tokens
// are the site's Positions, from 0 to Context−1. It is an error if size is odd or θ is not positive.
func NewRoPE(at Site, size int, theta float64) *RoPE { return NewPartialRoPE(at, size, size, theta) }

// NewPartialRoPE is like NewRoPE, but rotates only the first dim columns of a group (Black et al. 2022, GPT-NeoX-20B,
// section 2.1.1, where dim is a quarter of size):
//
//	φ = t·θ^(−2i/dim) for 2i < dim, otherwise 0
//
// It is an error if dim is odd, below 2 or above size.
func NewPartialRoPE(at Site, size, dim int, theta float64) *RoPE {
	switch {
	case size < 2:
		at.Failf("size %d: rotary positions rotate pairs, so at least 2 features are needed", size)
	case size%2 != 0:
		at.Failf("size %d: rotary positions rotate pairs, so %d or %d features are needed", size, size-1, size+1)
	case dim < 2 || dim > size || dim%2 != 0:
		at.Failf("rotary dimension %d: rotary positions rotate pairs, so an even number from 2 to %d is needed",
			dim, size)
	case !(theta > 0) || math.IsInf(theta, 1):
		at.Failf("theta %g: a base greater than 0 is needed, such as 10000", theta)
	}
	at.checkPositions()
	half := size / 2
	table := func(name string, f func(float64) float64) graph.Expr {
		return at.Value(name, func(i int, _ *rand.Rand) float64 {
			t, pair := float64(i/half), i%half
			if 2*pair >= dim {
				return f(0)
			}
			return f(t * math.Pow(theta, -2*float64(pair)/float64(dim))) // φ of position t
		}, at.Context, half)
	}
	return &RoPE{table("cos", math.Cos), table("sin", math.Sin), at.Positions, max(2, size), at.Embd, at.Scope}
}

// Rotate rotates the first groups·size columns of x, each group separately. size must be that of NewRoPE.
func (l *RoPE) Rotate(x graph.Expr, groups, size int) (result graph.Expr) { // (n, w) → (n, w)
	defer recoverUnbuilt(l, x, &result)
	if size != l.size {
		l.scope.Failf("groups of %d columns for rotary positions of size %d", size, l.size)
	}
	if y, ok := graph.Rotate(x, l.Cos, l.Sin, l.positions, groups); ok {
		return y
	}
	n, half, width := count(l.positions), size/2, groups*size
	cos := l.Cos.Gather(l.positions).Reshape(n, 1, half)          // cos φ                (n, 1, size/2)  (50)
	sin := l.Sin.Gather(l.positions).Reshape(n, 1, half)          // sin φ                (n, 1, size/2)  (51)
	pairs := x.Cols(0, width).Reshape(n*groups*half, 2)           // (a, b)
	a, b := pairs.Cols(0, 1), pairs.Cols(1, 2)                    //                                      (52)
	a, b = a.Reshape(n, groups, half), b.Reshape(n, groups, half) //                      (n, groups, size/2)
	even := a.Mul(cos).Sub(b.Mul(sin)).Reshape(n*groups*half, 1)  // a·cos φ − b·sin φ                    (53)
	odd := a.Mul(sin).Add(b.Mul(cos)).Reshape(n*groups*half, 1)   // a·sin φ + b·cos φ                    (54)
	y := even.Join(odd).Reshape(n, width)                         // in pairs again       (n, groups·size)
	if shape := x.Shape(); len(shape) == 2 && shape[1] > width {
		y = y.Join(x.Cols(width, shape[1])) // the other columns, unchanged    (n, w)
	}
	return y
}

// Forward rotates all d features of x, each group of size separately.
func (l *RoPE) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	groups := l.embd / max(1, l.size)
	if groups*l.size != l.embd {
		l.scope.Failf("groups of %d columns do not divide %d features", l.size, l.embd)
	}
	return l.Rotate(x.In(l.scope), groups, l.size)
}
