package papers

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// (5) The matrices of the heads are adjacent columns of W_q, W_k and W_v, which they form side by side; each is (d, k),
// where the text has (n, k) (erratum C15).
func TestContiEq05(t *testing.T) {
	e := newContiBlock()
	packed := e.x.MatMul(e.p["h.0.attn.c_attn.weight"])
	for h := range e.Heads {
		q, k, v := split(multiHead{Batch: 1, Heads: 2, QK: 4}, packed, 0, h)
		for what, m := range map[string]struct{ got, w matrix }{
			"q": {q, e.queries()}, "k": {k, e.keys()}, "v": {v, e.values()},
		} {
			own := m.w.Columns(h*4, (h+1)*4)
			near(t, what+" of a head", m.got, e.x.MatMul(own))
			if own.Rows != 8 || own.Cols != 4 {
				t.Errorf("%s: got (%d, %d), want (d, k)", what, own.Rows, own.Cols)
			}
		}
	}
}

// (6) Queries, keys and values are Wᵗ times a token as a column, which is a linear layer without a bias of the tokens
// as rows.
func TestContiEq06(t *testing.T) {
	e := newContiBlock()
	for _, w := range []matrix{e.queries(), e.keys(), e.values()} {
		rows := linearForward(e.x, w, matrix{})
		for i := range e.x.Rows {
			near(t, "Wᵗ(xᵢ)", w.Transpose().MatMul(e.x.Tokens(i, i+1).Transpose()), rows.Tokens(i, i+1).Transpose())
		}
	}
}

// (7) The attention values are averages of the values with weights in proportion to e^(q·k/√k).
func TestContiEq07(t *testing.T) {
	a := newAttention()
	want := hand.Zeros[float64](6, 5)
	for i := range 6 {
		row, norm := hand.Zeros[float64](1, 5), 0.0
		for j := range 6 {
			weight := math.Exp(dot(a.q.Tokens(i, i+1), a.k.Tokens(j, j+1)) / math.Sqrt(3))
			row, norm = row.Add(a.v.Tokens(j, j+1).Scale(weight)), norm+weight
		}
		copy(want.Data[i*5:], row.Scale(1/norm).Data)
	}
	near(t, "Attention", attentionForward(a.q, a.k, a.v, matrix{}, matrix{}), want)
}

// (8) The attention weights of a token are positive and sum to 1, whatever is added to all its scores.
func TestContiEq08(t *testing.T) {
	a := newAttention()
	rho := attentionWeights(a.q, a.k, matrix{})
	near(t, "Σ_j α", rho.Sum(), ones(6, 1))
	if smallest := rho.Scale(-1).RowMax().Scale(-1); smallest.Step().SumTokens().Data[0] != 6 {
		t.Errorf("smallest weights: got %v, want them above 0", smallest.Data)
	}
	near(t, "weights of shifted scores", a.scaled.Add(fixture.Random("shift", 6, 1)).Softmax(), rho)
}

// (9) The heads side by side times W_c are the sum of the heads times their own rows of W_c.
func TestContiEq09(t *testing.T) {
	e := newContiBlock()
	packed, wc := e.x.MatMul(e.p["h.0.attn.c_attn.weight"]), e.p["h.0.attn.c_proj.weight"]
	m := multiHead{Batch: 1, Heads: 2, QK: 4}
	sum := hand.Zeros[float64](6, 8)
	for h := range e.Heads {
		q, k, v := split(m, packed, 0, h)
		sum = sum.Add(attentionForward(q, k, v, matrix{}, matrix{}).MatMul(wc.Tokens(h*4, (h+1)*4)))
	}
	near(t, "MultiHead", multiHeadForward(packed, m).MatMul(wc), sum)
}

// softmaxJacobian returns diag(s) − sᵗs of a row s.
func softmaxJacobian(s matrix) matrix {
	return lifted(s).Sub(s.Transpose().MatMul(s))
}

// (10) The softmax has the derivatives ∂sᵢ/∂zᵢ = sᵢ(1 − sᵢ) and ∂sᵢ/∂z_k = −sᵢs_k. From its second row on, the matrix
// that collects them has an extra minus on its diagonal (erratum C1).
func TestContiEq10(t *testing.T) {
	z, truth := fixture.Random("z", 1, 7).Scale(4), hand.Zeros[float64](7, 7)
	for i := range 7 {
		row := complexStep(t, func(p complexParameters) complexMatrix { return p["z"].Softmax() },
			parameters{"z": z}, oneHotRows([]int{i}, 7))["z"]
		copy(truth.Data[i*7:], row.Data)
	}
	s := z.Softmax()
	near(t, "J", softmaxJacobian(s), truth)
	printed := softmaxJacobian(s)
	for i := 1; i < 7; i++ {
		printed.Data[i*7+i] *= -1
	}
	wrongBy(t, "J as printed", printed, truth, 1.47)
}

// (11) The Jacobian of the softmax vanishes where it is one-hot, and nowhere else: its trace is 1 − Σ s². Doubled
// scores move it towards zero, as in the example.
func TestContiEq11(t *testing.T) {
	for i := range 4 {
		vanishes(t, "J at one-hot", softmaxJacobian(oneHotRows([]int{i}, 4)))
	}
	z := hand.NewMatrix(1, 4, 1, 2, 0.5, -1)
	trace := func(s matrix) float64 {
		return softmaxJacobian(s).Mul(permutation(natural(4)...)).SumTokens().Sum().Data[0]
	}
	for _, scale := range []float64{0, 1, 2} {
		s := z.Scale(scale).Softmax()
		near(t, "trace J = 1 − Σ s²", hand.NewMatrix(1, 1, trace(s)), hand.NewMatrix(1, 1, 1-dot(s, s)))
		if !(trace(s) > 0) {
			t.Errorf("scale %v: got trace %v, want it above 0", scale, trace(s))
		}
	}
	for i, want := range []float64{0.2242, 0.6095, 0.1360, 0.0303} {
		if got := z.Softmax().Data[i]; !(math.Abs(got-want) <= 5e-5) {
			t.Errorf("softmax(z): got %v, want %v", got, want)
		}
	}
	for i, want := range []float64{0.11396, 0.84203, 0.04192, 0.00209} {
		if got := z.Scale(2).Softmax().Data[i]; !(math.Abs(got-want) <= 5e-6) {
			t.Errorf("softmax(2z): got %v, want %v", got, want)
		}
	}
}

// (12) With −∞ added above the diagonal row j of the weights ends in exact zeros, and its output is an average of the
// first j values: later tokens change no bit of it.
func TestContiEq12(t *testing.T) {
	a := newAttention()
	out := attentionForward(a.q, a.k, a.v, hand.CausalMask(6), matrix{})
	for j := range 6 {
		weights := a.scaled.Tokens(j, j+1).Columns(0, j+1).Softmax()
		near(t, "(a'₁, …, a'ⱼ) V", out.Tokens(j, j+1), weights.MatMul(a.v.Tokens(0, j+1)))
		later := func(x matrix) matrix {
			return hand.JoinTokens(x.Tokens(0, j+1), x.Tokens(j+1, 6).Scale(-3))
		}
		moved := attentionForward(later(a.q), later(a.k), later(a.v), hand.CausalMask(6), matrix{})
		if !slices.Equal(moved.Tokens(0, j+1).Data, out.Tokens(0, j+1).Data) {
			t.Errorf("row %d changes with the tokens after it", j)
		}
	}
}

// contiNeighbours returns the N(i) of a BigBird: a window, one global token and one drawn key per row.
func contiNeighbours(n int) [][]int {
	random := []int{4, 5, 5, 0, 1, 2}
	list := make([][]int, n)
	for i := range list {
		for j := range n {
			if i-j <= 1 && j-i <= 1 || i == 3 || j == 3 || j == random[i] {
				list[i] = append(list[i], j)
			}
		}
	}
	return list
}

// (13) A token attends to the tokens of a set N(i), which is equivalent to a mask with −∞ elsewhere. As printed the
// scores lack 1/√k, xᵢ is added and the values are as wide as the tokens, so with full sets it is not (7) (erratum C8).
func TestContiEq13(t *testing.T) {
	a, sets := newAttention(), contiNeighbours(6)
	mask := visible(6, func(i, j int) bool { return slices.Contains(sets[i], j) })
	drawn := [][]int{{4}, {5}, {5}, {0}, {1}, {2}}
	near(t, "N(i), by hand", hand.BigBirdMask(6, 3, []int{3}, drawn).Exp(), mask.Exp())
	out := attentionForward(a.q, a.k, a.v, mask, matrix{})
	for i, set := range sets {
		own := attentionForward(
			a.q.Tokens(i, i+1), embeddingForward(a.k, set), embeddingForward(a.v, set), matrix{}, matrix{},
		)
		near(t, "σ(Q K_N(i)ᵗ/√k) V_N(i)", own, out.Tokens(i, i+1))
	}
	full := a.scaled.Softmax()
	wrongBy(t, "weights as printed, full sets", a.raw.Softmax(), full, 0.282)
	wide := full.MatMul(a.x) // values of the width d
	wrongBy(t, "with xᵢ, full sets", wide.Add(a.x), wide, 2.27)
}

// A window of w = 4 with gaps of δ = 2, L = 3 layers deep, spans Lδw + 1 tokens, not the printed L·d·w; within that
// span it reaches only tokens at a distance that is a multiple of δ (erratum C13).
func TestContiLongformerReach(t *testing.T) {
	const n, layers, w, gap = 41, 3, 4, 2
	look := hand.Zeros[float64](n, n)
	for i := range n {
		for j := range n {
			if d := i - j; d%gap == 0 && -gap*w/2 <= d && d <= gap*w/2 {
				look.Data[i*n+j] = 1
			}
		}
	}
	reach := look
	for range layers - 1 {
		reach = reach.MatMul(look)
	}
	first, last, count := n, 0, 0
	for j := range n {
		if reach.At(n/2, j) > 0 {
			first, last, count = min(first, j), max(last, j), count+1
		}
	}
	if span := last - first + 1; span != layers*gap*w+1 || count != layers*w+1 {
		t.Errorf("got %d tokens in a span of %d, want 13 in 25", count, span)
	}
}
