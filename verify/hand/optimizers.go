package hand

import (
	"fmt"
	"math"
)

// AdamW holds the numbers of the optimizer: the rate η, the β of the two moments, ε and the decay λ.
type AdamW struct {
	Rate, Beta1, Beta2, Eps, Decay float64
}

// AdamWUpdate returns the update of a parameter w by its gradient g (Kingma and Ba, 2014; Loshchilov and Hutter, 2017).
// t counts the steps from 1. m and v are the results of the previous step, zeros for the first.
//
//	m ← β₁m + (1 − β₁)g
//	v ← β₂v + (1 − β₂)g∘g
//	w ← w − η(m̂/(√v̂ + ε) + λw),  m̂ = m/(1 − β₁ᵗ),  v̂ = v/(1 − β₂ᵗ)
//
// S. Diab prints the last line in section 2.5 and does not define m̂ and v̂ (erratum D10). ε stands outside the root,
// and the decay does not pass through the moments.
func AdamWUpdate[T Number](c AdamW, t int, w, g, m, v Matrix[T]) (w1, m1, v1 Matrix[T]) {
	if t < 1 {
		w.Err = fmt.Errorf("hand: adamw: step %d, want 1 or more", t)
		return w, w, w
	}
	m1 = m.Scale(c.Beta1).Add(g.Scale(1 - c.Beta1))                  // m
	v1 = v.Scale(c.Beta2).Add(g.Square().Scale(1 - c.Beta2))         // v
	mhat := m1.Scale(1 / (1 - math.Pow(c.Beta1, float64(t))))        // m̂
	vhat := v1.Scale(1 / (1 - math.Pow(c.Beta2, float64(t))))        // v̂
	step := mhat.Div(vhat.Sqrt().Shift(c.Eps)).Add(w.Scale(c.Decay)) // m̂/(√v̂ + ε) + λw
	return w.Sub(step.Scale(c.Rate)), m1, v1
}

// SGD holds the numbers of stochastic gradient descent: the rate η, the momentum μ and the decay λ.
type SGD struct {
	Rate, Momentum, Decay float64
}

// SGDUpdate returns the update of a parameter w by its gradient g. m is the result of the previous step, zeros for the
// first.
//
//	m ← μm + g
//	w ← w − η(m + λw)
//
// Without momentum, w becomes w(1 − ηλ) − ηg. Like AdamW's, the decay does not pass through m.
func SGDUpdate[T Number](c SGD, w, g, m Matrix[T]) (w1, m1 Matrix[T]) {
	m1 = m.Scale(c.Momentum).Add(g)
	return w.Sub(m1.Add(w.Scale(c.Decay)).Scale(c.Rate)), m1
}

// Lion holds the numbers of the optimizer: the rate η, the β of the direction and of the moment, and the decay λ.
type Lion struct {
	Rate, Beta1, Beta2, Decay float64
}

// LionUpdate returns the update of a parameter w by its gradient g (Chen et al. 2023, program 1). m is the result of
// the previous step, zeros for the first.
//
//	c = β₁m + (1 − β₁)g
//	w ← w − η(sign c + λw)
//	m ← β₂m + (1 − β₂)g
//
// The sign of 0 is 0. The decay does not pass through m.
func LionUpdate[T Number](o Lion, w, g, m Matrix[T]) (w1, m1 Matrix[T]) {
	c := m.Scale(o.Beta1).Add(g.Scale(1 - o.Beta1))
	sign := c.Step().Sub(c.Scale(-1).Step())
	m1 = m.Scale(o.Beta2).Add(g.Scale(1 - o.Beta2))
	return w.Sub(sign.Add(w.Scale(o.Decay)).Scale(o.Rate)), m1
}

// ScheduleFree holds the numbers of the optimizer: the rate η, the β of the weights and of the mean square, ε, the
// decay λ, and the number W of steps of warm-up.
type ScheduleFree struct {
	Rate, Beta1, Beta2, Eps, Decay float64
	Warmup                         int
}

// ScheduleFreeUpdate returns the update of a parameter by the gradient g at y (Defazio et al. 2024, algorithm 1). t
// counts the steps from 1. x, z and v are the results of the previous step; for the first one, x and z are y, and v is
// zeros. The model is evaluated at x.
//
//	v ← β₂v + (1 − β₂)g∘g
//	z ← z − η(g/(√v̂ + ε) + λy),  v̂ = v/(1 − β₂ᵗ)
//	x ← (1 − c)x + cz,  c = w_t/Σ w_i,  w_i = min(1, i/(W + 1))²
//	y ← (1 − β₁)z + β₁x
//
// The paper has the root of 1 − β₂ᵗ as a factor of η, and so in c and in front of ε.
func ScheduleFreeUpdate[T Number](o ScheduleFree, t int, y, g, x, z, v Matrix[T]) (y1, x1, z1, v1 Matrix[T]) {
	if t < 1 || o.Warmup < 0 {
		y.Err = fmt.Errorf("hand: schedule free: step %d after %d of warm-up, want 1 and 0 or more", t, o.Warmup)
		return y, y, y, y
	}
	full := float64(o.Warmup) + 1
	n := min(float64(t), full)
	sum := n*(n+1)*(2*n+1)/6 + (float64(t)-n)*full*full // of w_i(W + 1)²
	c := n * n / sum
	v1 = v.Scale(o.Beta2).Add(g.Square().Scale(1 - o.Beta2))
	vhat := v1.Scale(1 / (1 - math.Pow(o.Beta2, float64(t))))
	z1 = z.Sub(g.Div(vhat.Sqrt().Shift(o.Eps)).Add(y.Scale(o.Decay)).Scale(o.Rate))
	x1 = x.Scale(1 - c).Add(z1.Scale(c))
	return z1.Scale(1 - o.Beta1).Add(x1.Scale(o.Beta1)), x1, z1, v1
}

// SOAP holds the numbers of the optimizer: the rate η, the β of the two moments, ε, the decay λ, the β of the
// preconditioners, and whether the eigenvectors are updated after this step.
type SOAP struct {
	Rate, Beta1, Beta2, Eps, Decay, ShampooBeta float64
	Power                                       bool
}

// SOAPState holds the results of a step: the moments, the preconditioners and the columns near their eigenvectors.
// Before the first step they are zeros, and the columns I. A preconditioner without entries stays so, and so do its
// columns; columns without entries stand for I.
type SOAPState[T Number] struct{ M, V, L, R, QL, QR Matrix[T] }

// SOAPUpdate returns the update of a matrix w by its gradient g in step t, counted from 1 (Vyas et al. 2024, algorithms
// 3 and 4). s is the result of the previous step.
//
//	M ← β₁M + (1 − β₁)G,  V ← β₂V + (1 − β₂)G'∘G',  G' = Q_LᵀGQ_R
//	w ← w − η(Q_L(M'/(√V̂ + ε))Q_Rᵀ + λw),  M' = Q_LᵀM̂Q_R,  M̂ = M/(1 − β₁ᵗ),  V̂ = V/(1 − β₂ᵗ)
//	L ← βL + (1 − β)GGᵀ,  R ← βR + (1 − β)GᵀG
//	with Power: Q_L ← Q of (L/tr L + 10⁻⁶I)Q_L = QU with an upper triangular U, and Q_R likewise
//
// The paper has ε inside the root, and neither the trace nor I, which makes all columns certain.
func SOAPUpdate[T Number](o SOAP, t int, w, g Matrix[T], s SOAPState[T]) (w1 Matrix[T], s1 SOAPState[T]) {
	if t < 1 {
		w.Err = fmt.Errorf("hand: soap: step %d, want 1 or more", t)
		return w, s
	}
	into := func(x Matrix[T]) Matrix[T] { return enclosed(s.QL.Transpose(), x, s.QR) }
	back := func(x Matrix[T]) Matrix[T] { return enclosed(s.QL, x, s.QR.Transpose()) }
	s1 = s
	s1.M = s.M.Scale(o.Beta1).Add(g.Scale(1 - o.Beta1))
	s1.V = s.V.Scale(o.Beta2).Add(into(g).Square().Scale(1 - o.Beta2))
	mhat := s1.M.Scale(1 / (1 - math.Pow(o.Beta1, float64(t))))
	vhat := s1.V.Scale(1 / (1 - math.Pow(o.Beta2, float64(t))))
	step := back(into(mhat).Div(vhat.Sqrt().Shift(o.Eps)))
	w1 = w.Sub(step.Add(w.Scale(o.Decay)).Scale(o.Rate))
	s1.L, s1.QL = precondition(o, g, s.L, s.QL)
	s1.R, s1.QR = precondition(o, g.Transpose(), s.R, s.QR)
	return w1, s1
}

// enclosed returns a·x·b, where an a or b without entries stands for I.
func enclosed[T Number](a, x, b Matrix[T]) Matrix[T] {
	if !a.None() {
		x = a.MatMul(x)
	}
	if !b.None() {
		x = x.MatMul(b)
	}
	return x
}

// precondition returns the mean of g·gᵀ and its columns q after a step.
func precondition[T Number](o SOAP, g, mean, q Matrix[T]) (mean1, q1 Matrix[T]) {
	if mean.None() {
		return mean, q
	}
	mean = mean.Scale(o.ShampooBeta).Add(g.MatMul(g.Transpose()).Scale(1 - o.ShampooBeta))
	var trace T
	for i := range min(mean.Rows, mean.Cols) {
		trace += mean.At(i, i)
	}
	if !o.Power || mean.Err != nil || realPart(trace) == 0 {
		return mean, q
	}
	return mean, gramSchmidt(mean.Div(NewMatrix(1, 1, trace)).MatMul(q).Add(q.Scale(1e-6)))
}

// gramSchmidt returns the Q of x = QU with an upper triangular U whose diagonal is positive: it takes the parts along
// the columns before from every column, twice because of rounding, and divides the rest by its norm.
func gramSchmidt[T Number](x Matrix[T]) Matrix[T] {
	q := x.Columns(0, 0)
	for j := range x.Cols {
		c := x.Columns(j, j+1)
		for range min(2, 2*j) {
			c = c.Sub(q.MatMul(q.Transpose().MatMul(c)))
		}
		q = Join(q, c.Div(c.Transpose().MatMul(c).Sqrt()))
	}
	return q
}

// Muon holds the numbers of the optimizer: the rate η, the momentum μ, the decay λ, the factor s on the update of a
// matrix, which depends on its shape, and the number of iterations, 1 to 100.
type Muon struct {
	Rate, Momentum, Decay, Scale float64
	Steps                        int
}

// MuonUpdate returns the update of a matrix w by its gradient g (Jordan et al. 2024). m is the result of the previous
// step, zeros for the first.
//
//	m ← μm + g,  u = g + μm
//	w ← w − η(s·X + λw),  X = newtonSchulz(u)
func MuonUpdate[T Number](c Muon, w, g, m Matrix[T]) (w1, m1 Matrix[T]) {
	m1 = m.Scale(c.Momentum).Add(g)
	x := newtonSchulz(m1.Scale(c.Momentum).Add(g), c.Steps)
	return w.Sub(x.Scale(c.Scale).Add(w.Scale(c.Decay)).Scale(c.Rate)), m1
}

// newtonSchulz returns the matrix of a number of iterations from X = u/‖u‖ on, where ‖u‖ is the root of the sum of the
// squares:
//
//	A = XXᵀ,  X ← aX + (bA + cA²)X,  (a, b, c) = (3.4445, −4.7750, 2.0315)
//
// It takes every singular value σ of X to aσ + bσ³ + cσ⁵, and keeps the singular vectors. For u = 0 it is 0.
func newtonSchulz[T Number](u Matrix[T], steps int) Matrix[T] {
	if steps < 1 || steps > 100 {
		return failed[T]("steps: got %d, want 1 to 100", steps)
	}
	squares := u.Square().SumTokens().Sum()
	if realPart(squares.At(0, 0)) == 0 {
		return u
	}
	x := u.Div(squares.Sqrt())
	for range steps {
		a := x.MatMul(x.Transpose())
		x = x.Scale(3.4445).Add(a.Scale(-4.7750).Add(a.MatMul(a).Scale(2.0315)).MatMul(x))
	}
	return x
}
