package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// LearnedPositions adds to every token the row of its table for the token's position (2):
//
//	y_i = x_i + w[position of i],  w (T, d)
//
// The gradient of a row is the sum of Δ over the sequences; rows of positions that do not occur get 0 (errata D11).
type LearnedPositions struct {
	Weight    graph.Expr
	positions graph.Expr
	scope     graph.Scope
}

// NewLearnedPositions declares weight (Context, d), drawn from N(0, 0.02²), as wpe.weight at a site named wpe. The
// positions of the tokens are the site's Positions.
func NewLearnedPositions(at Site) *LearnedPositions {
	at.checkPositions()
	return &LearnedPositions{at.Scope.Table("weight", graph.Normal(0.02), at.Context, at.Embd), at.Positions, at.Scope}
}

// Forward returns x + w[positions].
func (l *LearnedPositions) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.AddPositions(x, l.Weight, l.positions, 1); ok {
		return y
	}
	return x.Add(l.Weight.In(l.scope).Gather(l.positions))
}

// Sinusoidal adds waves to embeddings, which it scales up first (Conti (1), (2); Vaswani et al. 2017):
//
//	y_i = √d·x_i + P[t],  t the position of token i
//	P[t, 2k] = sin ω_k·t,  P[t, 2k+1] = cos ω_k·t,  ω_k = N^(−2k/d),  k = 0 … d/2 − 1
//
// It has no parameters. A shift by s is a rotation of every pair, by ω_k·s; ‖P[t]‖² = d/2, and the product of two rows
// depends only on their distance. Conti's complex form divides by ω_k and uses i for two things, and the vector next to
// it counts the frequencies up to d (errata C4).
type Sinusoidal struct {
	P         graph.Expr // (T, d)
	positions graph.Expr
	scale     float64
	scope     graph.Scope
}

// NewSinusoidal declares the value s.waves (Context, d) with base N, usually 10000. It is an error if d is odd: a sine
// would lack its cosine.
func NewSinusoidal(at Site, base float64) *Sinusoidal {
	d := at.Embd
	at.checkPositions()
	switch {
	case d%2 != 0:
		at.Failf("%d features: waves come in pairs, so %d or %d are needed", d, d-1, d+1)
	case !(base > 0) || math.IsInf(base, 1):
		at.Failf("base %g: a number greater than 0 is needed, such as 10000", base)
	}
	waves := at.Scope.Rule("waves", sinusoids{base, d}, at.Context, d)
	return &Sinusoidal{waves, at.Positions, math.Sqrt(float64(d)), at.Scope}
}

// sinusoids is the table P of d features.
type sinusoids struct {
	base float64
	d    int
}

// Row writes P[t] from feature from on.
func (p sinusoids) Row(t, from int, into graph.Tensor) {
	for i := range into.Len() {
		j := from + i
		phase := float64(t) * elementary.Pow(p.base, -float64(j-j%2)/float64(p.d)) // ω_k·t
		if j%2 == 0 {
			setEntry(into, i, elementary.Sin(phase))
		} else {
			setEntry(into, i, elementary.Cos(phase))
		}
	}
}

// Forward returns √d·x + P[positions].
func (l *Sinusoidal) Forward(x graph.Expr) (result graph.Expr) { // (n, d) → (n, d)
	defer recoverUnbuilt(l, x, &result)
	x = x.In(l.scope)
	if y, ok := fused.AddPositions(x, l.P, l.positions, l.scale); ok {
		return y
	}
	return x.Scale(l.scale).Add(l.P.In(l.scope).Gather(l.positions))
}

// checkPositions fails if the site has no positions.
func (s Site) checkPositions() {
	if s.Positions.Graph() == nil {
		s.Failf("no positions: the site must give the positions of the %d tokens", s.Batch*s.Context)
	}
}

// count returns the number of integers in an input, or 0 after a failure.
func count(ids graph.Expr) int {
	if shape := ids.Shape(); len(shape) == 1 {
		return shape[0]
	}
	return 0
}

// ALiBi is attention with linear biases (Press et al. 2022): nothing is added to the activations, but every score is
// reduced by the distance of its key times a slope, which differs between the heads,
//
//	score_ij − m_h·|i − j|,  m_h = 2^(−8h/H),  h = 1 … H
//
// In causal attention this is the same as + m_h·j: what all keys of a query have in common cancels in a softmax. If H
// is not a power of two, the slopes are as for the next smaller one, P, followed by every other one of 2P, starting
// with the first, as in the authors' program. CS 224n's (13) has one key too many and no slope (errata S1).
type ALiBi struct {
	Slopes []float64 // m_h
}

// NewALiBi returns the slopes for the given number of heads, for use with NewBiasedMask.
func NewALiBi(heads int) ALiBi {
	slope := func(h, of int) float64 { return elementary.Pow(2, -8*float64(h)/float64(of)) }
	if heads > 1<<20 { // more than any model has: Check returns an error
		return ALiBi{}
	}
	power := 1
	for 2*power <= heads {
		power *= 2
	}
	var m []float64
	for h := range heads {
		if h < power {
			m = append(m, slope(h+1, power))
		} else {
			m = append(m, slope(2*(h-power)+1, 2*power))
		}
	}
	return ALiBi{m}
}

// Bias returns −m_h·|i − j|, or NaN for a head without a slope.
func (a ALiBi) Bias(head, i, j int) float64 {
	if head < 0 || head >= len(a.Slopes) {
		return math.NaN()
	}
	return a.Slopes[head] * float64(min(i-j, j-i))
}

// Check returns an error if the number of slopes is not the number of heads, or if a slope is not finite.
func (a ALiBi) Check(d Dims) error {
	if len(a.Slopes) != d.Heads {
		return errors.Errorf("%d slopes for %d heads", len(a.Slopes), d.Heads)
	}
	for h, m := range a.Slopes {
		if math.IsNaN(m) || math.IsInf(m, 0) {
			return errors.Errorf("slope %v of head %d is not finite", m, h)
		}
	}
	return nil
}
