package hand

import (
	"cmp"
	"math"
	"slices"
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
	Scaling   RotaryScaling
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
	if dim := cmp.Or(l.RotaryDim, l.Size); l.Scaling.Kind == "longrope" && len(l.Scaling.Divisors) != dim/2 {
		return failed[T]("%d divisors of %d frequencies", len(l.Scaling.Divisors), dim/2)
	}
	if !l.Scaling.valid() {
		return failed[T]("rotary scaling %+v, want linear, llama3, yarn or longrope by numbers above 0", l.Scaling)
	}
	cos, sin := l.turns(x, sign)
	y := x.Mul(cos).Add(quarterTurn(x).Mul(sin)) // Xu (53), (54)
	if l.Scaling.magnitude() != 1 {
		return y.Mul(l.magnitudes(x))
	}
	return y
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
				w := math.Pow(l.Theta, -float64(feature)/float64(dim))
				phi = sign * float64(t) * l.Scaling.of(w, feature/2, dim, l.Theta)
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
	return Join(pairs.Columns(1, 2).Scale(-1), pairs.Columns(0, 1)).reshaped(x.Rows, x.Cols)
}

// RotaryScaling changes the frequencies ω of rotary positions for contexts longer than in training. Its Kind
// is linear (Chen et al. 2023), llama3 (Llama Team 2024), yarn (Peng et al. 2023), longrope, or empty for none:
//
//	linear  ω/f
//	llama3  ω if it turns 4 times or more in Original tokens, ω/f if it turns once or less, linear between them
//	yarn    ω if it turns Fast times or more, ω/f if it turns Slow times or less, linear in the index of the pair
//	        between these borders, which are rounded unless Unrounded; what rotates is multiplied by Scale
//	longrope  ω/Divisors of the pair; what rotates is multiplied by Scale (Ding et al. 2024)
type RotaryScaling struct {
	Kind             string
	Factor, Original float64 // f, and the number of tokens

	// of yarn, by default 32, 1 and 0.1 ln f + 1
	Fast, Slow, Scale float64
	Unrounded         bool

	Divisors []float64 // of longrope, one for each pair
}

// valid reports whether the kind is known and its numbers are finite and above 0.
func (s RotaryScaling) valid() bool {
	positive := func(x float64) bool { return x > 0 && x <= math.MaxFloat64 }
	for _, x := range []float64{s.Fast, s.Slow, s.Scale} {
		if x != 0 && !positive(x) {
			return false
		}
	}
	switch s.Kind {
	case "":
		return true
	case "linear":
		return positive(s.Factor)
	case "llama3", "yarn":
		return positive(s.Factor) && positive(s.Original)
	case "longrope":
		return positive(s.Scale) && !slices.ContainsFunc(s.Divisors, func(x float64) bool { return !positive(x) })
	}
	return false
}

// of returns the frequency in place of w.
func (s RotaryScaling) of(w float64, pair, dim int, theta float64) float64 {
	divided := 1. // the share of ω/f
	switch s.Kind {
	case "":
		return w
	case "longrope":
		return w / s.Divisors[pair]
	case "llama3":
		divided = (4 - w*s.Original/(2*math.Pi)) / 3
	case "yarn": // pair i turns θ^(−2i/dim)·Original/2π times
		at := func(turns float64) float64 {
			return math.Log(s.Original/(turns*2*math.Pi)) * float64(dim) / (2 * math.Log(theta))
		}
		from, to := at(cmp.Or(s.Fast, 32)), at(cmp.Or(s.Slow, 1))
		if !s.Unrounded {
			from, to = math.Floor(from), math.Ceil(to)
		}
		from, to = max(0, from), min(float64(dim)-1, to)
		if from == to {
			to += 0.001
		}
		divided = (float64(pair) - from) / (to - from)
	}
	divided = min(1, max(0, divided))
	return w * (1 - divided + divided/s.Factor)
}

// magnitude returns the factor on what rotates.
func (s RotaryScaling) magnitude() float64 {
	switch s.Kind {
	case "yarn":
		return cmp.Or(s.Scale, 0.1*math.Log(s.Factor)+1)
	case "longrope":
		return s.Scale
	}
	return 1
}

// magnitudes returns the factors on the columns of x (1, w): magnitudes of rotating features, and 1 for others.
func (l RoPE[T]) magnitudes(x Matrix[T]) Matrix[T] {
	row := Zeros[float64](1, x.Cols)
	for i := range row.Data {
		if row.Data[i] = 1; i%l.Size < cmp.Or(l.RotaryDim, l.Size) {
			row.Data[i] = l.Scaling.magnitude()
		}
	}
	return Lift[T](row)
}
