package verify

import "math"

// TestXuEqNN tests equation (NN) of R. Xu, "Transformer with PyTorch" (2025); those that state nothing to check are in
// xuUnchecked. Where the printed form is wrong or can be misread, a test shows by how much, ‖printed − right‖/‖right‖ for
// its data, and names the erratum.

// selfAttention is the paper's section 2: T = 6 tokens of d = 8 features, h = 2 heads of d_k = d_v = 4, causal.
type selfAttention struct {
	x, mask        Matrix[float64]
	wq, wk, wv, wo Matrix[float64]
	q, k, v        Matrix[float64] // of all heads, side by side
}

const (
	xuTokens = 6
	xuWidth  = 8
	xuHeads  = 2
	xuHead   = 4
)

func newSelfAttention() selfAttention {
	s := selfAttention{
		x: Random("x", xuTokens, xuWidth).Scale(4), mask: CausalMask(xuTokens),
		wq: Random("wq", xuWidth, xuWidth), wk: Random("wk", xuWidth, xuWidth),
		wv: Random("wv", xuWidth, xuWidth), wo: Random("wo", xuWidth, xuWidth),
	}
	s.q, s.k, s.v = s.x.MatMul(s.wq), s.x.MatMul(s.wk), s.x.MatMul(s.wv)
	return s
}

// of are the columns of a head, i = 0 or 1.
func (s selfAttention) of(m Matrix[float64], i int) Matrix[float64] {
	return m.Columns(i*xuHead, (i+1)*xuHead)
}

func (s selfAttention) scores(i int) Matrix[float64] {
	return s.of(s.q, i).MatMul(s.of(s.k, i).Transpose())
}

func (s selfAttention) weights(i int) Matrix[float64] {
	return s.scores(i).Scale(1. / 2).Add(s.mask).Softmax() // √d_k = 2
}

func (s selfAttention) output(i int) Matrix[float64] { return s.weights(i).MatMul(s.of(s.v, i)) }

// packed is the layer as this package has it.
func (s selfAttention) packed() (qkv Matrix[float64], m MultiHead) {
	return JoinColumns(s.q, s.k, s.v), MultiHead{Batch: 1, Heads: xuHeads, QK: xuHead, Masks: []Matrix[float64]{s.mask}}
}

// cross are one head's matrices for keys and values of other tokens, and nothing behind it.
func (s selfAttention) cross() (Cross[float64], MultiHead) {
	weights := Cross[float64]{Wq: s.wq, Wkv: JoinColumns(s.wk, s.wv), Wo: permutation(natural(xuWidth)...)}
	return weights, MultiHead{Batch: 1, Heads: 1, QK: xuWidth}
}

// entriesOf is the matrix of f(i, j).
func entriesOf(rows, cols int, f func(i, j int) float64) Matrix[float64] {
	m := Zeros[float64](rows, cols)
	for i := range m.Data {
		m.Data[i] = f(i/cols, i%cols)
	}
	return m
}

// rowOf is row i of a matrix.
func rowOf(m Matrix[float64], i int) Matrix[float64] { return m.Tokens(i, i+1) }

// weightedRows is Σ a_i v_i over the rows of v.
func weightedRows(a []float64, v Matrix[float64]) Matrix[float64] {
	sum := Zeros[float64](1, v.Cols)
	for i, share := range a {
		sum = sum.Add(rowOf(v, i).Scale(share))
	}
	return sum
}

// sharesOf are e^(x_i)/Σ e^(x_j), as printed.
func sharesOf(x []float64) []float64 {
	sum, out := 0.0, make([]float64, len(x))
	for _, v := range x {
		sum += math.Exp(v)
	}
	for i, v := range x {
		out[i] = math.Exp(v) / sum
	}
	return out
}
