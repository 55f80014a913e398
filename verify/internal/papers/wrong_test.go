package papers

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// wrongLayer is a layer whose forward or backward is replaced by another one, unless that is nil.
type wrongLayer struct {
	hand.Layer[float64]
	forward  func(x matrix) matrix
	backward func(x, delta matrix) (matrix, hand.Gradients[float64])
}

func (l wrongLayer) Forward(x matrix) matrix {
	if l.forward != nil {
		return l.forward(x)
	}
	return l.Layer.Forward(x)
}

func (l wrongLayer) Backward(x, delta matrix) (matrix, hand.Gradients[float64]) {
	if l.backward != nil {
		return l.backward(x, delta)
	}
	return l.Layer.Backward(x, delta)
}

// wrongHead is attention whose steps can be replaced: the width under the root of the scale, the function from scores
// to weights, and changes of Δ_causal and of the results. A nil step is right.
type wrongHead struct {
	right   hand.Attention[float64]
	width   int
	weights func(scaled, mask matrix) matrix
	causal  func(dcausal, mask matrix) matrix
	back    func(draw, q, k matrix) (dq, dk matrix)
	out     func(dq, dk, dv matrix) (matrix, matrix, matrix)
}

func (l wrongHead) scale(q matrix) float64 {
	if l.width > 0 {
		return 1 / math.Sqrt(float64(l.width))
	}
	return 1 / math.Sqrt(float64(q.Cols))
}

func (l wrongHead) rho(q, k matrix) matrix {
	scaled := q.MatMul(k.Transpose()).Scale(l.scale(q))
	if l.weights != nil {
		return l.weights(scaled, l.right.Mask)
	}
	return scaled.Add(l.right.Mask).Softmax()
}

// ShiftInvariant reports false: a mistake may break the invariance of the softmax.
func (wrongHead) ShiftInvariant() bool { return false }

func (l wrongHead) Forward(q, k, v matrix) matrix { return l.rho(q, k).MatMul(v) }

func (l wrongHead) Backward(q, k, v, delta matrix) (dq, dk, dv matrix) {
	rho := l.rho(q, k)
	drho := delta.MatMul(v.Transpose())
	dcausal := drho.Sub(drho.Mul(rho).Sum()).Mul(rho)
	if l.causal != nil {
		dcausal = l.causal(dcausal, l.right.Mask)
	}
	draw := dcausal.Scale(l.scale(q))
	dq, dk, dv = draw.MatMul(k), draw.Transpose().MatMul(q), rho.Transpose().MatMul(delta)
	if l.back != nil {
		dq, dk = l.back(draw, q, k)
	}
	if l.out != nil {
		return l.out(dq, dk, dv)
	}
	return dq, dk, dv
}

// wrongModel changes the parts of a model by their kind. It has access to the text and to a₁ of the blocks.
type wrongModel struct {
	hand.Model[float64]
	inputs []matrix // of the blocks
}

// blocks replaces every block.
func (m *wrongModel) blocks(change func(i int, b hand.Block[float64]) hand.Layer[float64]) {
	original := m.Decoder
	m.Decoder = func(z matrix) hand.Stack[float64] {
		s := original(z)
		for i := range s.Blocks {
			s.Blocks[i] = change(i, s.Blocks[i].(hand.Block[float64]))
		}
		return s
	}
}

// norms replaces every norm.
func (m *wrongModel) norms(change func(l hand.Layer[float64]) hand.Layer[float64]) {
	m.blocks(func(_ int, b hand.Block[float64]) hand.Layer[float64] {
		b.Norm1, b.Norm2 = change(b.Norm1), change(b.Norm2)
		return b
	})
	original := m.Decoder
	m.Decoder = func(z matrix) hand.Stack[float64] {
		s := original(z)
		s.Norm = change(s.Norm)
		return s
	}
}

// attentions replaces the attention in every block, given the original.
func attentions[L hand.Layer[float64]](m *wrongModel, change func(i int, l L) hand.Layer[float64]) {
	m.blocks(func(i int, b hand.Block[float64]) hand.Layer[float64] {
		b.Attention = change(i, b.Attention.(L))
		return b
	})
}

// heads replaces every head.
func (m *wrongModel) heads(change func(l hand.Attention[float64]) hand.Head[float64]) {
	attentions(m, func(_ int, l hand.SelfAttention[float64]) hand.Layer[float64] {
		right := l.Heads.Head
		l.Heads.Head = func(b, h int) hand.Head[float64] { return change(right(b, h).(hand.Attention[float64])) }
		return l
	})
}

// activations replaces the activation of every MLP.
func (m *wrongModel) activations(wrong hand.Layer[float64]) {
	m.blocks(func(_ int, b hand.Block[float64]) hand.Layer[float64] {
		mlp := b.MLP.(hand.MLP[float64])
		mlp.Act = wrong
		b.MLP = mlp
		return b
	})
}

// replaced returns the chain with another layer of that name.
func replaced(
	c hand.Chain[float64], name string, change func(hand.Layer[float64]) hand.Layer[float64],
) hand.Chain[float64] {
	c = slices.Clone(c)
	for i := range c {
		if l, ok := c[i].(hand.Apply[float64]); ok && l.Name == name {
			l.Layer = change(l.Layer)
			c[i] = l
		}
	}
	return c
}

// linears replaces every linear layer.
func (m *wrongModel) linears(change func(l hand.Linear[float64]) hand.Layer[float64]) {
	of := func(l hand.Layer[float64]) hand.Layer[float64] {
		if l, ok := l.(hand.PackedQKV[float64]); ok {
			l.Layer = change(l.Layer.(hand.Linear[float64]))
			return l
		}
		return change(l.(hand.Linear[float64]))
	}
	m.blocks(func(_ int, b hand.Block[float64]) hand.Layer[float64] {
		attention, mlp := b.Attention.(hand.SelfAttention[float64]), b.MLP.(hand.MLP[float64])
		attention.Before = replaced(attention.Before, "c_attn", of)
		attention.After = replaced(attention.After, "c_proj", of)
		mlp.Fc, mlp.Proj = of(mlp.Fc), of(mlp.Proj)
		b.Attention, b.MLP = attention, mlp
		return b
	})
	m.Head = of(m.Head)
}

// normBackward returns a LayerNorm whose Δx is f of w̃Δ, ā and σ.
func normBackward(f func(g, norm, sigma matrix) matrix) func(hand.Layer[float64]) hand.Layer[float64] {
	return func(l hand.Layer[float64]) hand.Layer[float64] {
		right := l.(hand.LayerNorm[float64])
		return wrongLayer{Layer: l, backward: func(x, delta matrix) (matrix, hand.Gradients[float64]) {
			_, g := right.Backward(x, delta)
			norm, sigma := normalise(x, right.Eps)
			return f(delta.Mul(right.Weight), norm, sigma), g
		}}
	}
}

// interleaved makes consecutive features belong to different heads.
func interleavedHeads(x matrix, heads int) matrix {
	var columns []matrix
	for j := range x.Cols {
		from := j%heads*(x.Cols/heads) + j/heads
		columns = append(columns, x.Columns(from, from+1))
	}
	return hand.Join(columns...)
}
