package papers

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// TestXuEqNN tests equation (NN) of R. Xu, "Transformer with PyTorch" (2025); those that state nothing to check are in
// xuUnchecked. Where the printed form is wrong or can be misread, a test shows by how much, ‖printed − right‖/‖right‖
// for its data, and names the erratum.

// selfAttention is the paper's section 2: T = 6 tokens of d = 8 features, h = 2 heads of d_k = d_v = 4, causal.
type selfAttention struct {
	x, mask        matrix
	wq, wk, wv, wo matrix
	q, k, v        matrix // of all heads, side by side
}

const (
	xuTokens = 6
	xuWidth  = 8
	xuHeads  = 2
	xuHead   = 4
)

func newSelfAttention() selfAttention {
	s := selfAttention{
		x: fixture.Random("x", xuTokens, xuWidth).Scale(4), mask: hand.CausalMask(xuTokens),
		wq: fixture.Random("wq", xuWidth, xuWidth), wk: fixture.Random("wk", xuWidth, xuWidth),
		wv: fixture.Random("wv", xuWidth, xuWidth), wo: fixture.Random("wo", xuWidth, xuWidth),
	}
	s.q, s.k, s.v = s.x.MatMul(s.wq), s.x.MatMul(s.wk), s.x.MatMul(s.wv)
	return s
}

// of returns the columns of a head, i = 0 or 1.
func (s selfAttention) of(m matrix, i int) matrix {
	return m.Columns(i*xuHead, (i+1)*xuHead)
}

func (s selfAttention) scores(i int) matrix {
	return s.of(s.q, i).MatMul(s.of(s.k, i).Transpose())
}

func (s selfAttention) weights(i int) matrix {
	return s.scores(i).Scale(1. / 2).Add(s.mask).Softmax() // √d_k = 2
}

func (s selfAttention) output(i int) matrix { return s.weights(i).MatMul(s.of(s.v, i)) }

// packed returns the layer in the form of this package.
func (s selfAttention) packed() (qkv matrix, m multiHead) {
	return hand.Join(s.q, s.k, s.v), multiHead{Batch: 1, Heads: xuHeads, QK: xuHead, Masks: []matrix{s.mask}}
}

// cross returns one head's matrices for keys and values of other tokens, without an output projection.
func (s selfAttention) cross() (crossParameters[float64], multiHead) {
	weights := crossParameters[float64]{
		Wq: s.wq, Wkv: hand.Join(s.wk, s.wv), Wo: permutation(natural(xuWidth)...),
	}
	return weights, multiHead{Batch: 1, Heads: 1, QK: xuWidth}
}

// entriesOf returns the matrix of f(i, j).
func entriesOf(rows, cols int, f func(i, j int) float64) matrix {
	m := hand.Zeros[float64](rows, cols)
	for i := range m.Data {
		m.Data[i] = f(i/cols, i%cols)
	}
	return m
}

// rowOf returns row i of a matrix.
func rowOf(m matrix, i int) matrix { return m.Tokens(i, i+1) }

// weightedRows returns Σ a_i v_i over the rows of v.
func weightedRows(a []float64, v matrix) matrix {
	sum := hand.Zeros[float64](1, v.Cols)
	for i, share := range a {
		sum = sum.Add(rowOf(v, i).Scale(share))
	}
	return sum
}

// sharesOf returns e^(x_i)/Σ e^(x_j), as printed.
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
