package papers

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// rotaryQueries holds the quantities of the paper's section 4, for queries of width d = 8 at positions 0 to 5.
type rotaryQueries struct {
	q, k                    matrix
	frequencies             matrix // (1, d/2)
	angles                  matrix // (T, d/2)
	even, odd               matrix // features 0, 2, … and 1, 3, … of q
	positions               []int
	rotatedEven, rotatedOdd matrix
}

const xuTheta = 10000

func newRotary() rotaryQueries {
	s := newSelfAttention()
	r := rotaryQueries{q: s.q, k: s.k, positions: natural(xuTokens)}
	r.frequencies = frequencies(xuWidth, xuTheta)
	r.angles = entriesOf(xuTokens, xuWidth/2, func(t, i int) float64 { return float64(t) * r.frequencies.Data[i] })
	r.even = entriesOf(xuTokens, xuWidth/2, func(t, i int) float64 { return r.q.At(t, 2*i) })
	r.odd = entriesOf(xuTokens, xuWidth/2, func(t, i int) float64 { return r.q.At(t, 2*i+1) })
	cos, sin := each(r.angles, math.Cos), each(r.angles, math.Sin)
	r.rotatedEven = r.even.Mul(cos).Sub(r.odd.Mul(sin))
	r.rotatedOdd = r.even.Mul(sin).Add(r.odd.Mul(cos))
	return r
}

// rotary returns the layer of the formulas by hand.
func (r rotaryQueries) rotary() rotary {
	return rotary{Positions: r.positions, Groups: 1, Size: xuWidth, Theta: xuTheta}
}

// frequencies returns θ^(−2i/d) for i = 0 … d/2−1.
func frequencies(d int, theta float64) matrix {
	return entriesOf(1, d/2, func(_, i int) float64 { return math.Pow(theta, -float64(2*i)/float64(d)) })
}

// rotated returns x with pair i of the token at position t rotated by tθ^(−2i/d). It uses complex numbers, so that no
// matrix and no sign of a rotation can be wrong.
func rotated(x matrix, positions []int, theta float64) matrix {
	f := frequencies(x.Cols, theta)
	return entriesOf(x.Rows, x.Cols, func(t, j int) float64 {
		z := complex(x.At(t, j/2*2), x.At(t, j/2*2+1)) * cmplx.Rect(1, float64(positions[t])*f.Data[j/2])
		return []float64{real(z), imag(z)}[j%2]
	})
}

// rotationBy returns the rotation matrix R(φ) of columns.
func rotationBy(angle float64) matrix {
	return hand.NewMatrix(2, 2, math.Cos(angle), -math.Sin(angle), math.Sin(angle), math.Cos(angle))
}

// pair returns feature block i of a token, (1, 2).
func pair(x matrix, t, i int) matrix { return rowOf(x, t).Columns(2*i, 2*i+2) }

// (47) The frequencies are θ^(−i/d) for i = 0, 2, … d−2: from 1 downwards, each the same fraction of the previous one.
// The accompanying code has θ = 100000, ten times the usual value (erratum X3).
func TestXuEq47(t *testing.T) {
	f := newRotary().frequencies
	ratio := math.Pow(xuTheta, -2./xuWidth)
	near(t, "frequencies", f, hand.NewMatrix(1, 4, 1, ratio, ratio*ratio, ratio*ratio*ratio))
	q, at := fixture.Random("q64", 8, 64), natural(8)
	wrongBy(
		t, "eight queries of 64 features with the θ of the code", rotated(q, at, 100000), rotated(q, at, 10000), 0.154,
	)
}

// (48) θᵗ is short for θ^(t/d). Taken literally, with θ² in the denominator, it would stop all pairs but the first.
func TestXuEq48(t *testing.T) {
	r := newRotary()
	written := entriesOf(1, 4, func(_, i int) float64 { return math.Pow(xuTheta, -float64(2*i)) })
	wrongBy(t, "frequencies at their word", written, r.frequencies, 0.1)
	short := entriesOf(1, 4, func(_, i int) float64 { return math.Pow(math.Pow(xuTheta, 1./xuWidth), -float64(2*i)) })
	near(t, "frequencies of θ^(1/d)", short, r.frequencies)
	for i := 1; i < 4; i++ {
		if !(r.frequencies.Data[i] < r.frequencies.Data[i-1]) {
			t.Errorf(
				"frequency %d: got %v after %v, want a smaller one", i, r.frequencies.Data[i], r.frequencies.Data[i-1],
			)
		}
	}
}

// (49) The angles are position times frequency, for positions 0 to T−1.
func TestXuEq49(t *testing.T) {
	r := newRotary()
	column := entriesOf(xuTokens, 1, func(t, _ int) float64 { return float64(t) })
	near(t, "angles", column.MatMul(r.frequencies), r.angles)
}

// (50) The cosines are 1 at position 0 and even: cos(s+t) = cos s cos t − sin s sin t.
func TestXuEq50(t *testing.T) {
	r := newRotary()
	cos, sin := each(r.angles, math.Cos), each(r.angles, math.Sin)
	near(t, "at position 0", rowOf(cos, 0), ones(1, 4))
	near(t, "at 5 = 2 + 3", rowOf(cos, 2).Mul(rowOf(cos, 3)).Sub(rowOf(sin, 2).Mul(rowOf(sin, 3))), rowOf(cos, 5))
}

// (51) The sines of the same angles are 0 at position 0: sin(s+t) = sin s cos t + cos s sin t, and cos² + sin² = 1.
func TestXuEq51(t *testing.T) {
	r := newRotary()
	cos, sin := each(r.angles, math.Cos), each(r.angles, math.Sin)
	vanishes(t, "at position 0", rowOf(sin, 0))
	near(t, "at 5 = 2 + 3", rowOf(sin, 2).Mul(rowOf(cos, 3)).Add(rowOf(cos, 2).Mul(rowOf(sin, 3))), rowOf(sin, 5))
	near(t, "cos² + sin²", cos.Square().Add(sin.Square()), ones(xuTokens, 4))
}

// (52) Even and odd features are two matrices of half the width, and interleaved they are the queries again.
func TestXuEq52(t *testing.T) {
	r := newRotary()
	near(t, "Q", interleaved(r.even, r.odd), r.q)
	wrongBy(t, "even beside odd", hand.Join(r.even, r.odd), r.q, 1.25)
}

func interleaved(even, odd matrix) matrix {
	return entriesOf(even.Rows, 2*even.Cols, func(t, j int) float64 {
		return []matrix{even, odd}[j%2].At(t, j/2)
	})
}

// (53) The new even features are even·cos − odd·sin, the real part of the pair rotated. The printed matrix ends with
// row T, and with row 0 these are T + 1 rows (erratum X4).
func TestXuEq53(t *testing.T) {
	r := newRotary()
	full := rotated(r.q, r.positions, xuTheta)
	near(t, "Q′even", r.rotatedEven, entriesOf(xuTokens, 4, func(t, i int) float64 { return full.At(t, 2*i) }))
	near(t, "Q′even by hand", interleaved(r.rotatedEven, r.rotatedOdd), ropeForward(r.q, r.rotary()))
	printed := r.rotary()
	printed.Positions = hand.Positions(1, xuTokens+1)
	if ropeForward(r.q, printed).Err == nil {
		t.Error("rows 0 to T for T queries: got no error")
	}
}

// (54) The new odd features are even·sin + odd·cos, the imaginary part. No token's length changes.
func TestXuEq54(t *testing.T) {
	r := newRotary()
	full := rotated(r.q, r.positions, xuTheta)
	near(t, "Q′odd", r.rotatedOdd, entriesOf(xuTokens, 4, func(t, i int) float64 { return full.At(t, 2*i+1) }))
	near(t, "Q′ by hand", ropeForward(r.q, r.rotary()), full)
	near(t, "lengths", full.Square().Sum(), r.q.Square().Sum())
}

// (55) Each pair is rotated, as a column, by R(φ) = [cos −sin; sin cos], an orthogonal matrix; in the example by 1/θ².
func TestXuEq55(t *testing.T) {
	r := newRotary()
	full := rotated(r.q, r.positions, xuTheta)
	for at := range xuTokens {
		for i := range xuWidth / 2 {
			numbers := rotationBy(r.angles.At(at, i))
			near(t, "q′", numbers.MatMul(pair(r.q, at, i).Transpose()), pair(full, at, i).Transpose())
			near(t, "R Rᵗ", numbers.MatMul(numbers.Transpose()), permutation(0, 1))
		}
	}
}

// (56) In general token t rotates its pair i by t/θ^(2i/d). Printed is R, which rotates a row backwards: a row needs
// Rᵗ. Also printed is t/θ² for all pairs (erratum X2). The purpose is that scores depend on the difference of
// positions.
func TestXuEq56(t *testing.T) {
	r := newRotary()
	right := rotated(r.q, r.positions, xuTheta)
	each := func(numbers func(t, i int) matrix) matrix {
		return entriesOf(xuTokens, xuWidth, func(t, j int) float64 {
			return pair(r.q, t, j/2).MatMul(numbers(t, j/2)).Data[j%2]
		})
	}
	near(t, "qRᵗ by hand", ropeForward(r.q, r.rotary()), right)
	near(t, "qRᵗ", each(func(t, i int) matrix { return rotationBy(r.angles.At(t, i)).Transpose() }), right)
	wrongBy(t, "qR", each(func(t, i int) matrix { return rotationBy(r.angles.At(t, i)) }), right, 0.66)
	constant := each(func(t, i int) matrix { return rotationBy(r.angles.At(t, 1)).Transpose() })
	wrongBy(t, "qRᵗ with t/θ² for all pairs", constant, right, 0.884)

	later := []int{40, 41, 42, 43, 44, 45}
	near(t, "scores further on", rotated(r.q, later, xuTheta).MatMul(rotated(r.k, later, xuTheta).Transpose()),
		right.MatMul(rotated(r.k, r.positions, xuTheta).Transpose()))
	delta := fixture.Random("delta", xuTokens, xuWidth)
	back := entriesOf(xuTokens, xuWidth, func(t, j int) float64 {
		return pair(delta, t, j/2).MatMul(rotationBy(r.angles.At(t, j/2))).Data[j%2]
	})
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		y := hand.Zeros[complex128](xuTokens, xuWidth)
		for i := range y.Data {
			row, j := i/xuWidth, i%xuWidth
			x := z["q"].Tokens(row, row+1).Columns(j/2*2, j/2*2+2)
			y.Data[i] = x.MatMul(lift(rotationBy(r.angles.At(row, j/2)).Transpose())).Data[j%2]
		}
		return y
	}, parameters{"q": r.q}, delta)
	near(t, "Δ, rotated back", back, truth["q"])
	near(t, "Δ by hand", ropeBackward(r.rotary(), delta), truth["q"])
}

// (57) Y is the sum over the heads of softmax(X W_Q W↑Kᵗ Lᵗ/√d_k) L W↑V W_O, with the rows of W_O of each: only L is
// needed from the other tokens. (Printed without the mask.)
func TestXuEq57(t *testing.T) {
	m := newLatent()
	sum := hand.Zeros[float64](xuTokens, xuWidth)
	for i := range xuHeads {
		scores := m.x.MatMul(m.of(m.wq, i)).MatMul(m.of(m.upK, i).Transpose()).MatMul(m.l.Transpose())
		rho := scores.Scale(0.5).Add(m.mask).Softmax()
		sum = sum.Add(rho.MatMul(m.l).MatMul(m.of(m.upV, i)).MatMul(m.outRows(i)))
	}
	qkv, heads := m.packed()
	near(t, "Y", sum, multiHeadForward(qkv, heads).MatMul(m.wo))
	near(t, "Y by hand", mlaForward(m.x, m.hand(), heads), sum)
	near(t, "Y by hand, absorbed", mlaAbsorbedForward(m.x, m.hand(), heads), sum)
}

// (58) Inside that softmax are, without the scale, the scores of a head.
func TestXuEq58(t *testing.T) {
	m := newLatent()
	for i := range xuHeads {
		q := m.x.MatMul(m.of(m.wq, i)) // from left to right, as it is printed
		near(t, "scores", q.MatMul(m.of(m.upK, i).Transpose()).MatMul(m.l.Transpose()), m.scores(i))
	}
}

// (59) A single rotation for all tokens is useless: R Rᵗ would be 1 and have no effect. With one for each, R_t R_jᵗ is
// between W_Q and W↑Kᵗ and depends on t − j, so that the two can no longer be multiplied in advance.
func TestXuEq59(t *testing.T) {
	m := newLatent()
	q, k, at := m.of(m.q, 0), m.of(m.k, 0), natural(xuTokens)
	same := []int{3, 3, 3, 3, 3, 3}
	near(
		t, "scores with one rotation for all", rotated(q, same, xuTheta).MatMul(rotated(k, same, xuTheta).Transpose()),
		m.scores(0),
	)
	withRotation := rotated(q, at, xuTheta).MatMul(rotated(k, at, xuTheta).Transpose())
	wrongBy(t, "scores without rotation", m.scores(0), withRotation, 0.809)
	unit := permutation(0, 1, 2, 3)
	for i := range xuTokens {
		for j := range xuTokens {
			between := rotated(unit, []int{i - j, i - j, i - j, i - j}, xuTheta)
			near(t, "score by R_t R_jᵗ", rowOf(q, i).MatMul(between).MatMul(rowOf(k, j).Transpose()),
				entriesOf(1, 1, func(_, _ int) float64 { return withRotation.At(i, j) }))
		}
	}
}
