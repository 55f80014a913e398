package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/structured"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// TestContiEqNN tests equation (NN) of E. Conti, "The Math behind transformers" (2023/2024). Its tokens are rows of X,
// but a single token is a column: Wᵗ(xᵢ) there is xᵢW here. Where the printed form is wrong or can be misread, a test
// shows by how much and names the erratum.

// contiBlock is the paper's block, of small sizes: n = 6, d = 8, H = 2 heads of k = 4, m = 13, post-norm with a ReLU,
// no mask, no biases in the attention, and ε = 0, with which (4) is the usual LayerNorm.
type contiBlock struct {
	variants.Plan
	x, delta matrix
	p        parameters
}

func newContiBlock() contiBlock {
	return contiBlock{
		Plan: variants.Plan{
			Batch: 1, Context: 6, Layers: 1, Heads: 2, QK: 4, Position: "none", Attention: "causal", Norm: "layernorm",
			Block: "post", Activation: "relu", Head: "linear",
			Mask: func(block, sequence, head int) matrix { return matrix{} },
		},
		x: fixture.Random("x", 6, 8).Scale(4), delta: fixture.Random("delta", 6, 8),
		p: parameters{
			"h.0.attn.c_attn.weight": fixture.Random("wqkv", 8, 24),
			"h.0.attn.c_proj.weight": fixture.Random("wc", 8, 8),
			"h.0.ln_1.weight":        fixture.Random("gain 1", 1, 8).Shift(1),
			"h.0.ln_1.bias":          fixture.Random("shift 1", 1, 8),
			"h.0.mlp.c_fc.weight":    fixture.Random("w1", 8, 13), "h.0.mlp.c_fc.bias": fixture.Random("b1", 1, 13),
			"h.0.mlp.c_proj.weight": fixture.Random("w2", 13, 8), "h.0.mlp.c_proj.bias": fixture.Random("b2", 1, 8),
			"h.0.ln_2.weight": fixture.Random("gain 2", 1, 8).Shift(1),
			"h.0.ln_2.bias":   fixture.Random("shift 2", 1, 8),
		},
	}
}

// queries, keys and values are W_q, W_k and W_v of (5), each (d, d).
func (e contiBlock) queries() matrix { return e.p["h.0.attn.c_attn.weight"].Columns(0, 8) }
func (e contiBlock) keys() matrix    { return e.p["h.0.attn.c_attn.weight"].Columns(8, 16) }
func (e contiBlock) values() matrix  { return e.p["h.0.attn.c_attn.weight"].Columns(16, 24) }

// block computes (3) literally: for each token, columns and sums over heads and keys.
func (e contiBlock) block(x complexMatrix, p complexParameters) complexMatrix {
	const heads, k = 2, 4
	part := func(from, h int) complexMatrix {
		return p["h.0.attn.c_attn.weight"].Columns(from+h*k, from+(h+1)*k).Transpose()
	}
	tokens := make([]complexMatrix, x.Rows)
	column := func(i int) complexMatrix { return x.Tokens(i, i+1).Transpose() } // xᵢ (d, 1)
	for i := range tokens {
		attended := hand.Zeros[complex128](8, 1) // u'ᵢ
		for h := range heads {
			scores := make([]complexMatrix, x.Rows)
			for j := range scores {
				q, key := part(0, h).MatMul(column(i)), part(8, h).MatMul(column(j))
				scores[j] = q.Transpose().MatMul(key).Scale(1 / math.Sqrt(k))
			}
			alpha, sum := hand.Join(scores...).Softmax(), hand.Zeros[complex128](k, 1)
			for j := range scores {
				sum = sum.Add(part(16, h).MatMul(column(j)).Mul(alpha.Columns(j, j+1)))
			}
			attended = attended.Add(p["h.0.attn.c_proj.weight"].Tokens(h*k, (h+1)*k).Transpose().MatMul(sum))
		}
		u := contiLayerNorm(column(i).Add(attended).Transpose(), p["h.0.ln_1.weight"], p["h.0.ln_1.bias"], e.Eps)
		hidden := reluForward(u.MatMul(p["h.0.mlp.c_fc.weight"]).Add(p["h.0.mlp.c_fc.bias"]))
		z := hidden.MatMul(p["h.0.mlp.c_proj.weight"]).Add(p["h.0.mlp.c_proj.bias"])
		tokens[i] = contiLayerNorm(u.Add(z), p["h.0.ln_2.weight"], p["h.0.ln_2.bias"], e.Eps)
	}
	return hand.JoinTokens(tokens...)
}

// contiLayerNorm returns the LayerNorm (4), whose ε is added to σ and not to the variance.
func contiLayerNorm[T hand.Number](z, gain, shift hand.Matrix[T], eps float64) hand.Matrix[T] {
	centred := z.Sub(z.Mean())
	sigma := centred.Square().Mean().Sqrt()
	return centred.Div(sigma.Shift(eps)).Mul(gain).Add(shift)
}

// stated requires a number to equal the amount in the errata.
func stated(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 0.02*math.Abs(want)) {
		t.Errorf("%s: got %.3g, want %.3g", what, got, want)
	}
}

// realParts returns the real parts of a result of complex arithmetic without a complex step.
func realParts(z complexMatrix) matrix {
	x := hand.Zeros[float64](z.Rows, z.Cols)
	for i, v := range z.Data {
		x.Data[i] = real(v)
	}
	x.Err = z.Err
	return x
}

// liftAll returns parameters to compute with in complex arithmetic.
func liftAll(p parameters) complexParameters {
	z := complexParameters{}
	for name, m := range p {
		z[name] = lift(m)
	}
	return z
}

// The dimension of a band, −(w + 1)(w − 2n) − n, holds up to w = n; beyond that the band keeps n² entries, but the
// formula falls (erratum C9).
func TestContiBandDimension(t *testing.T) {
	printed := func(n, w int) int { return -(w+1)*(w-2*n) - n }
	for n := 1; n < 20; n++ {
		for w := range 2*n + 3 {
			band := visible(n, func(i, j int) bool { return i-j <= w && j-i <= w }).Exp()
			count := int(dot(band, band))
			if got := structured.Dimension(n, w); got != count {
				t.Errorf("n %d, w %d: got %d, want %d", n, w, got, count)
			}
			if holds := printed(n, w) == count; holds != (w <= n) {
				t.Errorf("n %d, w %d: the print has %d, the band %d", n, w, printed(n, w), count)
			}
		}
	}
	if a, b := printed(16, 3), printed(16, 10); a != 100 || b != 226 {
		t.Errorf("got %d and %d, want 100 and 226", a, b)
	}
}

// The distances of the tables in 3.1.3, called relatively small, are distances of (16, 16) weights, from which the
// matrix of zeros has the distance 16: seven of eight and eight of eight are farther away than that (erratum C12).
func TestContiTables(t *testing.T) {
	const n = 16
	tables := [2][8][2]float64{
		{
			{17.229423, 0.067302}, {15.748942, 0.061519}, {21.084405, 0.082361}, {18.796007, 0.073422},
			{16.912899, 0.066066}, {17.232267, 0.067314}, {18.121464, 0.070787}, {18.711096, 0.073090},
		},
		{
			{22.584185, 0.088219}, {20.904304, 0.081657}, {20.630814, 0.080589}, {19.964075, 0.077985},
			{21.000884, 0.082035}, {22.181472, 0.086646}, {21.396999, 0.083582}, {21.169499, 0.082693},
		},
	}
	weights := fixture.Random("scores", n, n).Scale(4).Softmax()
	zero := checked(structured.Distance(nested(weights), nested(hand.Zeros[float64](n, n))))
	near(t, "|A − 0|", hand.NewMatrix(1, 1, zero), hand.NewMatrix(1, 1, float64(n)))
	for i, worse := range []int{7, 8} {
		count := 0
		for _, row := range tables[i] {
			if !(math.Abs(row[0]/(n*n)-row[1]) <= 5.1e-7) {
				t.Errorf("mean: got %v for the distance %v, want %v", row[1], row[0], row[0]/(n*n))
			}
			if row[0] > zero {
				count++
			}
		}
		if count != worse {
			t.Errorf("table %d: got %d heads worse than zeros, want %d", i, count, worse)
		}
	}
}
