package papers

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// contiFrequency returns ω_k = N^(−2k/d) with N = 10000.
func contiFrequency(k, d int) float64 { return math.Pow(10000, -2*float64(k)/float64(d)) }

// (1) Position t is d/2 pairs of sine and cosine at falling frequencies: a shift by s rotates each pair by a fixed
// angle, all positions have the length √(d/2), and the product of two positions depends only on their distance. The
// complex form has ω_k on the wrong side of the fraction, and the vector that the text lists uses each frequency for
// one entry (erratum C4).
func TestContiEq01(t *testing.T) {
	const n, d, shift = 9, 8, 3
	p := hand.Sinusoids(n, d, 10000)
	shiftBy, gram := hand.Zeros[float64](d, d), hand.Zeros[float64](n, n)
	for k := range d / 2 {
		sin, cos := math.Sincos(contiFrequency(k, d) * shift)
		shiftBy.Data[2*k*d+2*k], shiftBy.Data[2*k*d+2*k+1] = cos, -sin
		shiftBy.Data[(2*k+1)*d+2*k], shiftBy.Data[(2*k+1)*d+2*k+1] = sin, cos
		for i := range gram.Data {
			gram.Data[i] += math.Cos(contiFrequency(k, d) * float64(i/n-i%n))
		}
	}
	near(t, "R(s)", rotation(shift, d, 10000), shiftBy)
	near(t, "P[t+s] = P[t] R(s)", p.Tokens(0, n-shift).MatMul(shiftBy), p.Tokens(shift, n))
	near(t, "P Pᵗ", p.MatMul(p.Transpose()), gram)
	near(t, "‖P[t]‖²", p.Square().SumFeatures(), ones(n, 1).Scale(d/2))

	right, printed, listed := hand.Zeros[float64](n, d), hand.Zeros[float64](n, d), hand.Zeros[float64](n, d)
	for t := range n {
		for k := range d / 2 {
			z, w := cmplx.Exp(complex(0, contiFrequency(k, d)*float64(t))), cmplx.Exp(complex(0, float64(t)/contiFrequency(k, d)))
			right.Data[t*d+2*k], right.Data[t*d+2*k+1] = imag(z), real(z)
			printed.Data[t*d+2*k], printed.Data[t*d+2*k+1] = imag(w), real(w)
			listed.Data[t*d+2*k] = math.Sin(contiFrequency(2*k+1, d) * float64(t))
			listed.Data[t*d+2*k+1] = math.Cos(contiFrequency(2*k+2, d) * float64(t))
		}
	}
	near(t, "e^(iω_k t)", right, p)
	wrongBy(t, "e^(it/ω_k)", printed, p, 1.22)
	wrongBy(t, "(sin ω₁t, cos ω₂t, …)", listed, p, 0.707)
}

// (2) The rows of the embedding that the one-hot rows of X choose, plus the first n rows of P, P[:n, :]; the printed
// P[:, n, :] has one index too many (erratum C15).
func TestContiEq02(t *testing.T) {
	tokens := []int{3, 1, 4, 1, 5}
	embedding, positions := fixture.Random("wte", 11, 8), hand.Sinusoids(9, 8, 10000)
	got := embeddingForward(embedding, tokens).Add(embeddingForward(positions, hand.Positions(1, 5)))
	near(t, "X Wᴱ + P[:n, :]", got, oneHotRows(tokens, 11).MatMul(embedding).Add(positions.Tokens(0, 5)))
	if sum := oneHotRows(tokens, 11).MatMul(embedding).Add(positions); sum.Err == nil {
		t.Error("all of P beside five tokens: got no error")
	}
}
