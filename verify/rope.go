package verify

import "math"

// Rotary are rotary positions (R. Xu): in the first Groups·Size features of a token
// each group turns by itself, its features 2i and 2i+1 by the angle
//
//	φ = t θ^(−2i/Size)     t the token's position   Xu (47)–(49)
//
// and the features behind them pass.
type Rotary struct {
	Positions    []int // of the tokens, in their order
	Groups, Size int
	Theta        float64
}

// RoPEForward turns a pair by φ: the column (a, b) times Xu (55), which as a row is
// (a, b)Rᵗ, not the (a, b)R of Xu (56), and with an angle for each pair (erratum X2).
//
//	(n, w) → (n, w)
func RoPEForward[T Number](x Matrix[T], r Rotary) Matrix[T] { return rotate(x, r, 1) }

// RoPEBackward turns Δ by −φ: a rotation's transpose is its inverse.
func RoPEBackward[T Number](r Rotary, delta Matrix[T]) Matrix[T] { return rotate(delta, r, -1) }

func rotate[T Number](x Matrix[T], r Rotary, sign float64) Matrix[T] {
	if x.Err != nil {
		return x
	}
	if len(r.Positions) != x.Rows || r.Size < 2 || r.Size%2 != 0 || x.Cols < r.Groups*r.Size {
		return failed[T]("rotate (%d, %d) at %d positions in %d groups of %d", x.Rows, x.Cols, len(r.Positions), r.Groups, r.Size)
	}
	out := Zeros[T](x.Rows, x.Cols)
	copy(out.Data, x.Data)
	for row, t := range r.Positions {
		for pair := range r.Groups * r.Size / 2 {
			at := row*x.Cols + 2*pair
			exponent := -float64(2*pair%r.Size) / float64(r.Size)
			phi := sign * float64(t) * math.Pow(r.Theta, exponent)
			cos, sin := number[T](math.Cos(phi)), number[T](math.Sin(phi))
			a, b := x.Data[at], x.Data[at+1]
			out.Data[at] = a*cos - b*sin   // Xu (53)
			out.Data[at+1] = a*sin + b*cos // Xu (54)
		}
	}
	return out
}
