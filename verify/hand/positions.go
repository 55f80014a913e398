package hand

import "math"

// LearnedPositions adds to every token the row of its position.
//
//	y = x + w[positions]         (n, d), (T, d) → (n, d)      (2)
type LearnedPositions[T Number] struct {
	Weight    Matrix[T]
	Positions []int // of the tokens
}

// Forward returns x + w[positions].
func (l LearnedPositions[T]) Forward(x Matrix[T]) Matrix[T] {
	return placed(x, l.Positions).Add(Embedding[T]{l.Weight}.Forward(l.Positions))
}

// Backward returns Δ unchanged. A row of w gets the sum of Δ over the sequences, and 0 if no token has its position
// (erratum D11).
func (l LearnedPositions[T]) Backward(_, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return placed(delta, l.Positions), Embedding[T]{l.Weight}.Backward(l.Positions, delta) // ohe(1:n)ᵗ Δ₁  (3)
}

// Sinusoidal adds waves to the tokens, which are scaled by √d first.
//
//	y = √d x + P[positions]      Conti (1), (2)
type Sinusoidal[T Number] struct {
	Waves     Matrix[float64] // (T, d)
	Positions []int
}

// Forward returns √d x + P[positions].
func (l Sinusoidal[T]) Forward(x Matrix[T]) Matrix[T] {
	waves := Embedding[float64]{l.Waves}.Forward(l.Positions)
	return placed(x, l.Positions).Scale(math.Sqrt(float64(x.Cols))).Add(Lift[T](waves))
}

// Backward returns √d Δ.
func (l Sinusoidal[T]) Backward(_, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return placed(delta, l.Positions).Scale(math.Sqrt(float64(delta.Cols))), nil
}

// placed returns x if it has a token for every position, and otherwise an error.
func placed[T Number](x Matrix[T], positions []int) Matrix[T] {
	if x = x.sound(); x.Err == nil && x.Rows != len(positions) {
		return failed[T]("%d tokens at %d positions", x.Rows, len(positions))
	}
	return x
}

// Positions returns 0, 1, …, n−1 for each of batch sequences, or nil if no matrix can have batch·n tokens.
func Positions(batch, n int) []int {
	if !possible(batch, n) {
		return nil
	}
	out := make([]int, batch*n)
	for i := range out {
		out[i] = i % n
	}
	return out
}

// Sinusoids returns n rows of waves in d columns; d must be even.
//
//	P[t, 2k] = sin ω_k t    P[t, 2k+1] = cos ω_k t    ω_k = N^(−2k/d)      Conti (1)
func Sinusoids(n, d int, base float64) Matrix[float64] {
	if d%2 != 0 || !(base > 0 && base <= math.MaxFloat64) {
		return failed[float64]("waves in %d columns with base %v, want an even number and a positive one", d, base)
	}
	out := Zeros[float64](n, d)
	for t := range out.Rows {
		for k := range d / 2 {
			omega := math.Exp(-math.Log(base) * 2 * float64(k) / float64(d))
			out.Data[t*d+2*k] = math.Sin(omega * float64(t))
			out.Data[t*d+2*k+1] = math.Cos(omega * float64(t))
		}
	}
	return out
}
