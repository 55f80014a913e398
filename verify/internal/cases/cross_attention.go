package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func crossAttentions[T hand.Number](n fixture.Sizes) []entry[T] {
	const source = "Xu section 2.2, CS 224n (33)–(36), erratum C14"
	return []entry[T]{{verify.Entry{ID: "I16", What: "cross-attention", Source: source}, []formula[T]{
		crossAttention[T](n, "cross attention", nil, 0),
		crossAttention[T](n, "cross attention to padded sources", sourceLengths(n), 0),
		crossAttention[T](n, "cross attention with dropout", sourceLengths(n), probability),
	}}}
}

// sourceTokens returns the number of tokens of a source. It is smaller than a target's.
func sourceTokens(n fixture.Sizes) int { return max(n.Tokens-2, 1) }

// sourceLengths returns the lengths of the sources; every other one is padded.
func sourceLengths(n fixture.Sizes) []int {
	return alternate(n.Batch, sourceTokens(n), max(sourceTokens(n)-1, 1))
}

const memory = "z" // the name of an encoder's output

// remember declares an encoder's output of m tokens as a parameter, so that its gradient is compared too.
func remember(at nn.Site, m int, lengths []int) *nn.Memory {
	z := at.Param(memory, graph.Const(0), at.Batch*m, at.Embd)
	return nn.NewMemory(at.Sub("memory"), z, at.Batch, at.Context, m, lengths)
}

func crossAttention[T hand.Number](n fixture.Sizes, name string, lengths []int, dropout float64) formula[T] {
	return formula[T]{verify.Case{
		Name: name, Types: []string{"CrossAttention"}, Source: "CS 224n (34)–(36), Conti 1.2.5; errata X12, C14, S9",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout = dropout
			return nn.NewCrossAttention(at.At("cross"), remember(at, sourceTokens(n), lengths)).Forward(x)
		},
	}, cross[T](n, lengths, dropout)}
}

func cross[T hand.Number](n fixture.Sizes, lengths []int, dropout float64) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = drawing(n, at, dropout, sourceTokens(n)).At("cross")
		return sequence[T]{{"cross", toMemory(n, at, lengths)}}
	}
}

// toMemory returns attention to the memory. Without lengths no source is padded.
func toMemory[T hand.Number](n fixture.Sizes, at hand.Site[T], lengths []int) hand.Layer[T] {
	drop := at.Drop("attn_dropout")
	heads := hand.Heads[T]{Batch: n.Batch, Count: n.Heads, Head: func(b, h int) hand.Head[T] {
		a := hand.Attention[T]{Drop: drop.Head(b, h, n.Heads, n.Tokens)}
		if lengths != nil {
			a.Mask = hand.SourceMask(n.Tokens, sourceTokens(n), lengths[b])
		}
		return a
	}}
	return at.CrossAttention(heads, n.Heads*n.QK, at.Parameters[memory])
}
