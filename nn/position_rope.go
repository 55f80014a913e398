package nn

import (
	"cmp"
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
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
	return NewScaledRoPE(at, size, dim, theta, nil)
}

// NewScaledRoPE is like NewPartialRoPE, but scaling, unless it is nil, gives the angles for a context that is longer
// than the context of the training:
//
//	φ = t·scaling.Frequency(i, dim, θ)
//
// and multiplies what it rotates by scaling.Magnitude().
func NewScaledRoPE(at Site, size, dim int, theta float64, scaling RotaryScaling) *RoPE {
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
	angles := rotaryAngles{dim: dim, theta: theta, frequency: rotaryFrequency, magnitude: 1}
	if scaling != nil {
		angles.frequency, angles.magnitude = scaling.Frequency, scaling.Magnitude()
		if !at.Graph().Outlined() {
			if err := checkScaling(scaling, dim, theta); err != nil {
				at.Failf("%v", err)
			}
		}
	}
	table := func(name string, f func(float64) float64) graph.Expr {
		angles := angles
		angles.of = f
		return at.Scope.Rule(name, angles, at.Context, half)
	}
	cos, sin := table("cos", elementary.Cos), table("sin", elementary.Sin)
	return &RoPE{cos, sin, at.Positions, max(2, size), at.Embd, at.Scope}
}

// rotaryAngles is the table of a function of the angles, with a row for every position.
type rotaryAngles struct {
	of        func(angle float64) float64
	frequency func(pair, dim int, theta float64) float64
	dim       int
	theta     float64
	magnitude float64
}

// Row writes the numbers of position t from a pair on.
func (a rotaryAngles) Row(t, from int, into graph.Tensor) {
	for i := range into.Len() {
		pair := from + i
		if 2*pair >= a.dim {
			setEntry(into, i, a.of(0))
			continue
		}
		setEntry(into, i, a.magnitude*a.of(float64(t)*a.frequency(pair, a.dim, a.theta))) // φ of position t
	}
}

// rotaryFrequency returns the radians by which a pair turns from token to token, θ^(−2i/dim).
func rotaryFrequency(pair, dim int, theta float64) float64 {
	return elementary.Pow(theta, -2*float64(pair)/float64(dim))
}

// RotaryScaling changes the frequencies of rotary positions, so that a model reads contexts longer than in training.
type RotaryScaling interface {
	// Frequency returns the radians by which a pair of dim rotating features turns from token to token.
	Frequency(pair, dim int, theta float64) float64
	// Magnitude returns the factor on rotated features. A score is multiplied by its square.
	Magnitude() float64
}

// checkScaling returns an error if a frequency or the magnitude is not a finite number above 0.
func checkScaling(s RotaryScaling, dim int, theta float64) error {
	for pair := range dim / 2 {
		if w := s.Frequency(pair, dim, theta); !(w > 0) || math.IsInf(w, 1) {
			return errors.Errorf("%T%+v: frequency %v of pair %d, want a number above 0", s, s, w, pair)
		}
	}
	if m := s.Magnitude(); !(m > 0) || math.IsInf(m, 1) {
		return errors.Errorf("%T%+v: magnitude %v, want a number above 0", s, s, m)
	}
	return nil
}

// LinearScaling divides all frequencies by Factor, so that a position t is rotated as t/Factor was (Chen et al. 2023).
type LinearScaling struct{ Factor float64 }

// Frequency returns θ^(−2i/dim)/Factor.
func (s LinearScaling) Frequency(pair, dim int, theta float64) float64 {
	return rotaryFrequency(pair, dim, theta) / s.Factor
}

// Magnitude returns 1.
func (LinearScaling) Magnitude() float64 { return 1 }

// Llama3Scaling divides the low frequencies by Factor, as Llama 3.1 does (Llama Team 2024): pairs that turn less than
// once in the Original context. Pairs that turn more than four times keep their frequency, and between them
//
//	ω ← (1 − s)·ω/Factor + s·ω,  s = (turns − 1)/3
type Llama3Scaling struct {
	Factor   float64
	Original int // number of tokens of the context in training
}

// Frequency returns ω.
func (s Llama3Scaling) Frequency(pair, dim int, theta float64) float64 {
	const low, high = 1, 4
	w := rotaryFrequency(pair, dim, theta)
	turns := w * float64(s.Original) / (2 * math.Pi)
	smooth := min(1, max(0, (turns-low)/(high-low)))
	return float64((1-smooth)*w)/s.Factor + float64(smooth*w)
}

// Magnitude returns 1.
func (Llama3Scaling) Magnitude() float64 { return 1 }

// YaRN divides the frequencies by a factor that falls from Factor for pairs that turn less than once in the Original
// context to 1 for those that turn more than 32 times, and makes the scores larger (Peng et al. 2023, section 3):
//
//	ω ← (1 − γ)·ω/Factor + γ·ω,  magnitude 0.1·ln Factor + 1
//
// γ falls linearly with the index of the pair, from the last one that turns 32 times, rounded down, to the first one
// that turns once, rounded up, as in the published programs. The paper has it linear in the number of turns. Some
// models have other numbers of turns, borders that are not rounded (gpt-oss), or another magnitude (DeepSeek-V3).
type YaRN struct {
	Factor     float64
	Original   int     // number of tokens of the context in training
	Fast, Slow float64 // numbers of turns; 0 is 32, or 1
	Unrounded  bool    // the borders of γ are not rounded
	Scale      float64 // the magnitude; 0 is 0.1·ln Factor + 1
}

// Frequency returns ω.
func (s YaRN) Frequency(pair, dim int, theta float64) float64 {
	index := func(turns float64) float64 { // of the pair that turns as often
		return float64(dim) / 2 * elementary.Log(float64(s.Original)/(2*math.Pi*turns)) / elementary.Log(theta)
	}
	first, last := index(cmp.Or(s.Fast, 32)), index(cmp.Or(s.Slow, 1))
	if !s.Unrounded {
		first, last = math.Floor(first), math.Ceil(last)
	}
	first, last = max(0, first), min(float64(dim-1), last)
	if first == last {
		last += 0.001
	}
	keep := 1 - min(1, max(0, (float64(pair)-first)/(last-first))) // γ
	w := rotaryFrequency(pair, dim, theta)
	return float64((1-keep)*w)/s.Factor + float64(keep*w)
}

// Magnitude returns Scale or, if that is 0, 0.1·ln Factor + 1.
func (s YaRN) Magnitude() float64 {
	if s.Scale != 0 {
		return s.Scale
	}
	return float64(0.1*elementary.Log(s.Factor)) + 1
}

// LongRoPE divides the frequency of every pair by a factor of its own, which was searched for (Ding et al. 2024,
// LongRoPE; Abdin et al. 2024, Phi-3):
//
//	ω ← ω/Factors[i],  magnitude Scale
//
// Models have two lists of factors: one for contexts up to the length of the training, and one for longer contexts.
type LongRoPE struct {
	Factors []float64 // one for each pair
	Scale   float64   // the magnitude, such as √(1 + ln f/ln n) for f times the n tokens in training
}

// Frequency returns ω, or 0 for a pair without a factor.
func (s LongRoPE) Frequency(pair, dim int, theta float64) float64 {
	if pair < 0 || pair >= len(s.Factors) {
		return 0
	}
	return rotaryFrequency(pair, dim, theta) / s.Factors[pair]
}

// Magnitude returns Scale.
func (s LongRoPE) Magnitude() float64 { return s.Scale }

// Rotate rotates the first groups·size columns of x, each group separately. size must be the size that NewRoPE got.
func (l *RoPE) Rotate(x graph.Expr, groups, size int) (result graph.Expr) { // (n, w) → (n, w)
	defer recoverUnbuilt(l, x, &result)
	if size != l.size {
		l.scope.Failf("groups of %d columns for rotary positions of size %d", size, l.size)
	}
	if y, ok := fused.Rotate(x, l.Cos, l.Sin, l.positions, groups); ok {
		return y
	}
	n, half, width := count(l.positions), size/2, groups*size
	cos := l.Cos.Gather(l.positions).Reshape(n, 1, half)          // cos φ                (n, 1, size/2)  (50)
	sin := l.Sin.Gather(l.positions).Reshape(n, 1, half)          // sin φ                (n, 1, size/2)  (51)
	pairs := x.Columns(0, width).Reshape(n*groups*half, 2)        // (a, b)
	a, b := pairs.Columns(0, 1), pairs.Columns(1, 2)              //                                      (52)
	a, b = a.Reshape(n, groups, half), b.Reshape(n, groups, half) //                      (n, groups, size/2)
	even := a.Mul(cos).Sub(b.Mul(sin)).Reshape(n*groups*half, 1)  // a·cos φ − b·sin φ                    (53)
	odd := a.Mul(sin).Add(b.Mul(cos)).Reshape(n*groups*half, 1)   // a·sin φ + b·cos φ                    (54)
	y := even.Join(odd).Reshape(n, width)                         // in pairs again       (n, groups·size)
	if shape := x.Shape(); len(shape) == 2 && shape[1] > width {
		y = y.Join(x.Columns(width, shape[1])) // the other columns, unchanged    (n, w)
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
