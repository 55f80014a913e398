package hand

import "math"

// RoPE computes rotary positions (R. Xu). Each group of Size features of a token rotates by itself, its features 2i and
// 2i+1 by the angle
//
//	φ = t θ^(−2i/Size)     t is the token's position   Xu (47)–(49)
type RoPE[T Number] struct {
	Positions []int // of the tokens, in their order
	Size      int
	Theta     float64
}

// Forward rotates a pair by φ: the column (a, b) times Xu (55). As a row that is (a, b)Rᵗ, not the (a, b)R of Xu (56),
// with an angle for each pair (erratum X2).
//
//	(n, w) → (n, w)
func (l RoPE[T]) Forward(x Matrix[T]) Matrix[T] { return l.rotate(x, 1) }

// Backward rotates Δ by −φ: a rotation's transpose is its inverse.
func (l RoPE[T]) Backward(_, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return l.rotate(delta, -1), nil
}

func (l RoPE[T]) rotate(x Matrix[T], sign float64) Matrix[T] {
	if x = x.sound(); x.Err != nil {
		return x
	}
	if len(l.Positions) != x.Rows || l.Size < 2 || l.Size%2 != 0 || x.Cols%l.Size != 0 {
		return failed[T]("rotate (%d, %d) at %d positions in groups of %d", x.Rows, x.Cols, len(l.Positions), l.Size)
	}
	if !(l.Theta > 0 && l.Theta <= math.MaxFloat64) {
		return failed[T]("rotate with base %v, want a positive one", l.Theta)
	}
	out := Zeros[T](x.Rows, x.Cols)
	for row, t := range l.Positions {
		for pair := range x.Cols / 2 {
			at := row*x.Cols + 2*pair
			exponent := -float64(2*pair%l.Size) / float64(l.Size)
			phi := sign * float64(t) * math.Pow(l.Theta, exponent)
			cos, sin := number[T](math.Cos(phi)), number[T](math.Sin(phi))
			a, b := x.Data[at], x.Data[at+1]
			out.Data[at] = a*cos - b*sin   // Xu (53)
			out.Data[at+1] = a*sin + b*cos // Xu (54)
		}
	}
	return out
}
