package hand

import (
	"cmp"
	"math"
)

// RoPE computes rotary positions (R. Xu). Each group of Size features of a token rotates by itself, its features 2i and
// 2i+1 by the angle
//
//	φ = t θ^(−2i/Size)     t is the token's position   Xu (47)–(49)
//
// If RotaryDim is not 0, only the first RotaryDim features of a group rotate, and RotaryDim replaces Size in φ
// (GPT-NeoX).
type RoPE[T Number] struct {
	Positions []int // of the tokens, in their order
	Size      int
	RotaryDim int // even, at most Size; 0 is Size
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
	if l.RotaryDim < 0 || l.RotaryDim > l.Size || l.RotaryDim%2 != 0 {
		return failed[T]("rotary dimension %d, want an even number from 0 to %d", l.RotaryDim, l.Size)
	}
	if !(l.Theta > 0 && l.Theta <= math.MaxFloat64) {
		return failed[T]("rotate with base %v, want a positive one", l.Theta)
	}
	cos, sin := l.turns(x, sign)
	return x.Mul(cos).Add(quarterTurn(x).Mul(sin)) // Xu (53), (54)
}

// turns returns the cosine and the sine of the angle of every entry of x.
func (l RoPE[T]) turns(x Matrix[T], sign float64) (cos, sin Matrix[T]) {
	cos, sin = x.zeros(), x.zeros()
	cos.exact, sin.exact = x.exact.with(emptied), x.exact.with(emptied)
	dim := cmp.Or(l.RotaryDim, l.Size)
	for row, t := range l.Positions {
		for pair := range x.Cols / 2 {
			phi := 0.
			if feature := 2 * pair % l.Size; feature < dim {
				phi = sign * float64(t) * math.Pow(l.Theta, -float64(feature)/float64(dim))
			}
			for at := row*x.Cols + 2*pair; at <= row*x.Cols+2*pair+1; at++ {
				if cos.Data[at], sin.Data[at] = number[T](math.Cos(phi)), number[T](math.Sin(phi)); x.exact != nil {
					cos.exact.numbers[at], sin.exact.numbers[at] = x.exact.draw.Turn(phi)
				}
			}
		}
	}
	return cos, sin
}

// quarterTurn returns (−b, a) for every pair (a, b) of features.
func quarterTurn[T Number](x Matrix[T]) Matrix[T] {
	pairs := x.reshaped(x.Rows*x.Cols/2, 2)
	return JoinColumns(pairs.Columns(1, 2).Scale(-1), pairs.Columns(0, 1)).reshaped(x.Rows, x.Cols)
}
