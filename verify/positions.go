package verify

import "math"

// PositionsForward adds to every token the row of its position, after a scale c.
//
//	y = c x + w[positions]       (n, d), (T, d) → (n, d)      (2), Conti (2)
func PositionsForward[T Number](x, w Matrix[T], positions []int, c float64) Matrix[T] {
	return x.Scale(c).Add(EmbeddingForward(w, positions))
}

// PositionsBackward is c Δ for the tokens; a row of w gets the sum of Δ over the
// sequences, and 0 where no token stands (erratum D11).
func PositionsBackward[T Number](w Matrix[T], positions []int, c float64, delta Matrix[T]) (dx, dw Matrix[T]) {
	return delta.Scale(c), EmbeddingBackward(w, positions, delta)
}

// Sinusoids are n rows of waves, an even number d of columns.
//
//	P[t, 2k] = sin ω_k t    P[t, 2k+1] = cos ω_k t    ω_k = N^(−2k/d)      Conti (1)
func Sinusoids(n, d int, base float64) Matrix[float64] {
	out := Zeros[float64](n, d)
	for t := range n {
		for k := range d / 2 {
			omega := math.Exp(-math.Log(base) * 2 * float64(k) / float64(d))
			out.Data[t*d+2*k] = math.Sin(omega * float64(t))
			out.Data[t*d+2*k+1] = math.Cos(omega * float64(t))
		}
	}
	return out
}

// Rotation is what turns the waves of a token into those of one s places on: blocks
// of two rows and columns,
//
//	P[t+s] = P[t] R(s)    R_k = (cos ω_k s, −sin ω_k s; sin ω_k s, cos ω_k s)      (d, d)
func Rotation(s, d int, base float64) Matrix[float64] {
	out := Zeros[float64](d, d)
	for k := range d / 2 {
		phi := math.Exp(-math.Log(base)*2*float64(k)/float64(d)) * float64(s)
		sin, cos := math.Sincos(phi)
		out.Data[2*k*d+2*k], out.Data[2*k*d+2*k+1] = cos, -sin
		out.Data[(2*k+1)*d+2*k], out.Data[(2*k+1)*d+2*k+1] = sin, cos
	}
	return out
}
