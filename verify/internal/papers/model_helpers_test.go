package papers

import (
	"fmt"
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// activations holds the activations of a model by hand, named as in Table 2. They are found by walking its layers.
type activations struct {
	A1     matrix // tokens + positions
	Blocks []blockActivations
	A11    matrix // input of the head
	Logits matrix // a₁₂
	Loss   matrix // (1, 1)
}

// blockActivations holds a₁ to a₁₀ of a block. In a post-norm block a₂ is a₁ and a₆ is a₅, the inputs of the sublayers.
type blockActivations struct {
	A1, A2, QKV, A3, A4, A5, A6, A7, A8, A9, A10 matrix
}

// gradients holds the gradients of the parameters, and every Δ from the loss downwards.
type gradients struct {
	Parameters parameters
	Deltas     hand.Gradients[float64]
}

func gptForward(c variants.Plan, p parameters, tokens, targets []int) (a activations, err error) {
	m, err := variants.Model(c, p)
	if err != nil {
		return a, err
	}
	s := m.Decoder(matrix{})
	a.A1 = s.Embeddings.Forward(tokens)
	x := a.A1
	for _, layer := range s.Blocks {
		a.Blocks = append(a.Blocks, walk(layer, x))
		x = layer.Forward(x)
	}
	a.A11 = s.Forward(tokens)
	text := hand.Text{Tokens: tokens, Targets: targets}
	a.Logits, a.Loss = m.Logits(text), m.Forward(text)
	return a, a.Loss.Err
}

// walk computes a block of softmax attention step by step.
func walk(layer hand.Layer[float64], a1 matrix) (b blockActivations) {
	b.A1, b.A10 = a1, layer.Forward(a1)
	switch l := layer.(type) {
	case hand.Block[float64]:
		b.A2 = l.Norm1.Forward(a1)
		b.attention(l.Attention)
		b.A5 = a1.Add(b.A4)
		b.A6 = l.Norm2.Forward(b.A5)
		b.mlp(l.MLP)
	case hand.PostNormBlock[float64]:
		b.A2 = a1
		b.attention(l.Attention)
		b.A5 = l.Norm1.Forward(a1.Add(b.A4))
		b.A6 = b.A5
		b.mlp(l.MLP)
	}
	return b
}

func (b *blockActivations) attention(layer hand.Layer[float64]) {
	b.A4 = layer.Forward(b.A2)
	if l, ok := layer.(hand.SelfAttention[float64]); ok {
		b.QKV = l.Before[:1].Values(b.A2)["qkv"]
		v := l.Before.Values(b.A2)
		b.A3 = l.Heads.Forward(v["q"], v["k"], v["v"])
	}
}

func (b *blockActivations) mlp(layer hand.Layer[float64]) {
	l := layer.(hand.MLP[float64])
	b.A7 = l.Fc.Forward(b.A6)
	b.A8 = l.Act.Forward(b.A7)
	b.A9 = l.Forward(b.A6)
}

func gptBackward(c variants.Plan, p parameters, tokens, targets []int) (g gradients, err error) {
	m, err := variants.Model(c, p)
	if err != nil {
		return g, err
	}
	all, err := m.Backward(hand.Text{Tokens: tokens, Targets: targets})
	if err != nil {
		return g, err
	}
	g.Parameters = all.Parameters()
	for _, e := range slices.Backward(all) {
		if e.Delta {
			g.Deltas = append(g.Deltas, e)
		}
	}
	return g, nil
}

// blockOf returns block i of a model; the parameters need not contain more than the block's.
func blockOf[T hand.Number](c variants.Plan, p hand.Parameters[T], i int) (hand.Layer[T], error) {
	m, err := variants.Model(c, p)
	if err != nil {
		return nil, err
	}
	return m.Decoder(hand.Matrix[T]{}).Blocks[i], nil
}

// blockForward returns the activations of block i for its input x.
func blockForward(c variants.Plan, p parameters, i int, x matrix) (blockActivations, error) {
	layer, err := blockOf(c, p, i)
	if err != nil {
		return blockActivations{}, err
	}
	b := walk(layer, x)
	return b, b.A10.Err
}

// blockBackward returns Δ at the input of block i, and the gradients of its parameters.
func blockBackward(c variants.Plan, p parameters, i int, x, delta matrix) (dx matrix, g parameters, err error) {
	layer, err := blockOf(c, p, i)
	if err != nil {
		return dx, nil, err
	}
	dx, all := layer.Backward(x, delta)
	return dx, all.In(fmt.Sprintf("h.%d", i), "").Parameters(), all.Err()
}
