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
	near(t, "‖P[t]‖²", p.Square().Sum(), ones(n, 1).Scale(d/2))

	right, printed, listed := hand.Zeros[float64](n, d), hand.Zeros[float64](n, d), hand.Zeros[float64](n, d)
	for t := range n {
		for k := range d / 2 {
			z := cmplx.Exp(complex(0, contiFrequency(k, d)*float64(t)))
			w := cmplx.Exp(complex(0, float64(t)/contiFrequency(k, d)))
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

// (3) The block is attention, a network with ReLU, and a LayerNorm after each of the two sums. Computed token by token
// it equals the block in matrices, with the same gradients. Q·Kᵗ of two columns is a (k, k) matrix where a number is
// meant, and b₁, b₂ are vectors of m and d numbers (erratum C15).
func TestContiEq03(t *testing.T) {
	e := newContiBlock()
	block, err := blockForward(e.Plan, e.p, 0, e.x)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Z", block.A10, realParts(e.block(lift(e.x), liftAll(e.p))))

	dx, g, err := blockBackward(e.Plan, e.p, 0, e.x, e.delta)
	if err != nil {
		t.Fatal(err)
	}
	all := parameters{"x": e.x}
	for name, m := range e.p {
		all[name] = m
	}
	truth := complexStep(t, func(z complexParameters) complexMatrix { return e.block(z["x"], z) }, all, e.delta)
	near(t, "Δx", dx, truth["x"])
	for name := range e.p {
		near(t, "∂"+name, g[name], truth[name])
	}

	q := e.queries().Columns(0, 4).Transpose().MatMul(e.x.Tokens(0, 1).Transpose())
	if score := q.MatMul(q.Transpose()); score.Rows != 4 || score.Cols != 4 {
		t.Errorf("Q(x)·K(x)ᵗ of columns: got (%d, %d), want (4, 4)", score.Rows, score.Cols)
	}
	numbers := liftAll(e.p)
	for _, name := range []string{"h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.bias"} {
		numbers[name] = numbers[name].Columns(0, 1)
	}
	wrongBy(t, "Z with numbers for b₁ and b₂", realParts(e.block(lift(e.x), numbers)), block.A10, 0.142)
}

// (4) The mean of its features is subtracted from each token, which is then divided by their standard deviation plus ε.
// The displays for μ and σ average over k, which is the width of a head; a token has d features (erratum C2). With ε
// outside the root it is another function than with ε inside, and its chain rule has 0/0 for a token of equal features
// (erratum C3).
func TestContiEq04(t *testing.T) {
	const d, k, eps = 512, 64, 1e-6
	z, gain := fixture.Random("z", 6, d).Scale(math.Sqrt(12)), fixture.Random("gain", 1, d).Shift(1)
	shift := fixture.Random("shift", 1, d)
	near(t, "LayerNorm at ε = 0", contiLayerNorm(z, gain, shift, 0), layerNormForward(z, gain, shift, 0))

	head := z.Columns(0, k)
	plain := normaliseBy(z, z.Mean(), eps)
	near(t, "LayerNorm, by hand", layerNormSigmaForward(z, gain, shift, eps), plain.Mul(gain).Add(shift))
	printed := z.Sub(head.Mean()).Div(head.Sub(head.Mean()).Square().Mean().Sqrt().Shift(eps))
	wrongBy(t, "with μ and σ of the first 64 of 512", printed, plain, 0.101)
	mean, deviation := 0.0, 0.0
	for i := range z.Rows {
		mu, variance := moments(printed.Tokens(i, i+1).Data)
		mean, deviation = max(mean, math.Abs(mu)), max(deviation, math.Abs(math.Sqrt(variance)-1))
	}
	stated(t, "mean that is left", mean, 0.155)
	stated(t, "deviation from 1 that is left", deviation, 0.0615)

	for _, c := range []struct{ size, amount float64 }{{1, 5.0e-7}, {1e-2, 0.00495}, {1e-4, 9.01}} {
		small := z.Scale(c.size)
		inside, _ := normalise(small, eps)
		wrongBy(t, "ε outside of the root", normaliseBy(small, small.Mean(), eps), inside, c.amount)
	}
}

// normaliseBy subtracts mu and divides by the deviation from it plus ε.
func normaliseBy(z, mu matrix, eps float64) matrix {
	centred := z.Sub(mu)
	return centred.Div(centred.Square().Mean().Sqrt().Shift(eps))
}

// The gradient of (4) is the LayerNorm's, with σ in the normalised features and σ + ε as the divisor. For a token of
// equal features it is NaN, where the usual one, with ε in the root, is finite (erratum C3).
func TestContiLayerNormGradient(t *testing.T) {
	const eps = 0.1
	x, gain, delta := fixture.Random("x", 6, 8), fixture.Random("gain", 1, 8).Shift(1), fixture.Random("delta", 6, 8)
	truth := complexStep(t, func(z complexParameters) complexMatrix {
		return contiLayerNorm(z["x"], z["gain"], z["shift"], eps)
	}, parameters{"x": x, "gain": gain, "shift": hand.Zeros[float64](1, 8)}, delta)
	dx, dw, db := layerNormSigmaBackward(x, gain, delta, eps)
	near(t, "Δx", dx, truth["x"])
	near(t, "∂w", dw, truth["gain"])
	near(t, "∂b", db, truth["shift"])

	equal, _, _ := layerNormSigmaBackward(ones(6, 8), gain, delta, eps)
	for i, v := range equal.Data {
		if !math.IsNaN(v) {
			t.Fatalf("equal features: got %v at %d, want NaN", v, i)
		}
	}
	dx, _, _ = layerNormBackward(ones(6, 8), gain, delta, eps)
	near(t, "Δx with ε in the root", dx, delta.Mul(gain).Sub(delta.Mul(gain).Mean()).Scale(1/math.Sqrt(eps)))
}

// The loss of section 1.1 is −log p of the right word; the first of its two expressions lacks the sign, and would train
// the model to avoid the right word (erratum C16).
func TestContiLoss(t *testing.T) {
	logits, targets := fixture.Random("logits", 6, 11), []int{3, 1, 4, 1, 5, 9}
	p := logits.Softmax().Mul(oneHotRows(targets, 11)).Sum().Log().SumTokens()
	right := crossEntropyForward(logits, targets, hand.Sum)
	near(t, "−log p", p.Scale(-1), right)
	wrongBy(t, "log p", p, right, 2)
}

// Cross-attention as printed has no parameters, softmax(X Zᵗ/√k) Z: no W_q, W_k, W_v and W_c, one head, and a width of
// √d to divide by. With them the queries come from the decoder, keys and values from the encoder (erratum C14).
func TestContiCrossAttention(t *testing.T) {
	e := newContiBlock()
	target, source := fixture.Random("decoder", 4, 8).Scale(4), fixture.Random("encoder", 6, 8).Scale(4)
	q, k, v := target.MatMul(e.queries()), source.MatMul(e.keys()), source.MatMul(e.values())
	var heads []matrix
	for h := range e.Heads {
		part := func(x matrix) matrix { return x.Columns(h*4, (h+1)*4) }
		heads = append(heads, attentionForward(part(q), part(k), part(v), matrix{}, matrix{}))
	}
	right := hand.Join(heads...).MatMul(e.p["h.0.attn.c_proj.weight"])
	if right.Rows != 4 || right.Cols != 8 {
		t.Fatalf("got (%d, %d), want a row for each token of the decoder, (4, 8)", right.Rows, right.Cols)
	}
	weights := crossParameters[float64]{
		Wq: e.queries(), Wkv: hand.Join(e.keys(), e.values()), Wo: e.p["h.0.attn.c_proj.weight"],
	}
	near(t, "by hand", crossAttentionForward(target, source, weights, multiHead{Batch: 1, Heads: 2, QK: 4}), right)
	printed := target.MatMul(source.Transpose()).Scale(1. / 2).Softmax().MatMul(source)
	near(t, "as printed, with W = 1", unprojectedForward(target.Scale(math.Sqrt(2)), source, matrix{}), printed)
	wrongBy(t, "without parameters", printed, right, 2.8)
}
