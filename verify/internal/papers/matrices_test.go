package papers

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// each returns f of every entry.
func each(x matrix, f func(float64) float64) matrix {
	out := hand.Zeros[float64](x.Rows, x.Cols)
	for i, v := range x.Data {
		out.Data[i] = f(v)
	}
	out.Err = x.Err
	return out
}

// plus returns x + y for an optional y.
func plus[T hand.Number](x, y hand.Matrix[T]) hand.Matrix[T] {
	if y.None() {
		return x
	}
	return x.Add(y)
}

// visible returns the additive mask of n tokens under which i sees j if see(i, j).
func visible(n int, see func(i, j int) bool) matrix {
	out := hand.Zeros[float64](n, n)
	for i := range out.Data {
		if !see(i/n, i%n) {
			out.Data[i] = math.Inf(-1)
		}
	}
	return out
}

func between(i, j int) int { return max(i-j, j-i) }

// oneHot returns a row for each index, and a row of zeros for an ignored one.
func oneHot(indices []int, size int) matrix {
	out := hand.Zeros[float64](len(indices), size)
	for i, index := range indices {
		if index != hand.Ignore {
			out.Data[i*size+index] = 1
		}
	}
	return out
}

// normalise returns (x − μ)/σ of every token, and σ.
func normalise(x matrix, eps float64) (norm, sigma matrix) {
	centred := x.Sub(x.Mean())
	sigma = centred.Square().Mean().Shift(eps).Sqrt()
	return hand.LayerNormPlain[float64]{Eps: eps}.Forward(x), sigma
}

// rotation returns the matrix R(s) that shifts the waves of the positions: P[t+s] = P[t] R(s).
func rotation(s, d int, base float64) matrix {
	out := hand.Zeros[float64](d, d)
	for k := range d / 2 {
		sin, cos := math.Sincos(math.Exp(-math.Log(base)*2*float64(k)/float64(d)) * float64(s))
		out.Data[2*k*d+2*k], out.Data[2*k*d+2*k+1] = cos, -sin
		out.Data[(2*k+1)*d+2*k], out.Data[(2*k+1)*d+2*k+1] = sin, cos
	}
	return out
}

// logProbs returns ln π of each action.
func logProbs(logits matrix, actions []int) matrix {
	return logits.Mul(oneHot(actions, logits.Cols)).Sum().Sub(logits.LogSumExp())
}
