package variants

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

type matrix = hand.Matrix[float64]

// mask returns the additive mask under which n tokens see earlier ones, in a block and a head.
type mask func(c Plan, n, block, head int) matrix

// mask returns the additive mask of the scores in a sequence and a head, including biases such as ALiBi's. A decoder
// attends as see shows; an encoder attends to all tokens or in a window, and not to padding.
func (p Place[T]) mask(see mask, sequence, head int) (m matrix) {
	c, s := p.plan, p.side
	switch {
	case c.Mask != nil && s.causal:
		return c.Mask(p.block, sequence, head)
	case s.causal:
		m = see(c, s.context, p.block, head)
	case s.attention == "window":
		m = near(s.context, c.option("window"), s.lengths[sequence])
	default:
		m = hand.SourceMask(s.context, s.context, s.lengths[sequence])
	}
	if c.Position == "alibi" {
		m = m.Add(hand.ALiBiMask(s.context, head+1, c.Heads))
	}
	return m
}

func causal(_ Plan, n, _, _ int) matrix { return hand.CausalMask(n) }

// windowed returns the mask of a window, beside which the first tokens may stay visible.
func windowed(c Plan, n, _, _ int) matrix {
	near, sinks := hand.WindowMask(n, c.option("window")), c.first("sink_tokens")
	return hand.Either(near, hand.GlobalMask(n, sinks).Add(hand.CausalMask(n)))
}

// alternating gives every other block a window.
func alternating(c Plan, n, block, head int) matrix {
	if block%2 == 1 {
		return windowed(c, n, block, head)
	}
	return hand.CausalMask(n)
}

// groupWindow gives all blocks a window except every k-th.
func groupWindow(c Plan, n, block, _ int) matrix {
	if c.full(block) {
		return hand.CausalMask(n)
	}
	return hand.WindowMask(n, c.option("window"))
}

// full reports whether a block is one of every k-th that has no window.
func (c Plan) full(block int) bool {
	k := c.option("full_attention_interval")
	return k > 0 && (block+1)%k == 0
}

func dilatedOrGlobal(c Plan, n, _, head int) matrix {
	return hand.CausalMask(n).Add(hand.Either(c.dilated(n, head), c.global(n)))
}

func bigBird(c Plan, n, _, _ int) matrix {
	return hand.BigBirdMask(n, 2*c.option("window")-1, c.first("global_tokens"), c.Random).Add(hand.CausalMask(n))
}

// near returns the mask under which tokens meet if they are less than window apart and not padding. Padding itself
// attends to the last token.
func near(n, window, length int) matrix {
	m := hand.DilatedMask(n, 2*window-1, 1).Add(hand.SourceMask(n, n, length))
	last := make([]bool, n)
	for j := range last {
		last[j] = j != length-1
	}
	only := hand.PaddingMask(last)
	return hand.JoinTokens(m.Tokens(0, length), only.Tokens(length, n))
}

// dilated returns the mask of a window of every δth token. δ grows evenly over the heads, from 1 in the first.
func (c Plan) dilated(n, head int) matrix {
	delta := 1
	if c.Heads > 1 {
		delta += head * (c.option("dilation") - 1) / (c.Heads - 1)
	}
	return hand.DilatedMask(n, 2*c.option("window")-1, delta)
}

// global returns the mask of the pairs with a global token; the first tokens are global.
func (c Plan) global(n int) matrix { return hand.GlobalMask(n, c.first("global_tokens")) }

// first returns the first tokens, whose number is an option.
func (c Plan) first(option string) (tokens []int) {
	for i := range c.option(option) {
		tokens = append(tokens, i)
	}
	return tokens
}

// windows returns the pairs of a dilated window as two masks: the windows, and the pairs with a global token.
func (c Plan) windows(n, head int) hand.LongformerMask {
	under, global := hand.CausalMask(n), c.global(n)
	if c.Position == "alibi" {
		under = under.Add(hand.ALiBiMask(n, head+1, c.Heads))
	}
	return hand.LongformerMask{Local: under.Add(hand.Except(c.dilated(n, head), global)), Global: under.Add(global)}
}

// Drawn returns the keys that were drawn at random, read from the library's mask (n, n). It reads nothing else from
// that mask; the formulas have their own. candidates[i] is the number of keys up to and including query i from which
// the library could draw.
func (c Plan) Drawn(mask []float64, seen func(x float64) bool) (keys [][]int, candidates []int) {
	n := c.Context
	none, causal := make([][]int, n), hand.CausalMask(n)
	plain := hand.BigBirdMask(n, 2*c.option("window")-1, c.first("global_tokens"), none)
	keys, candidates = make([][]int, n), make([]int, n)
	for i, v := range mask[:n*n] {
		if plain.Data[i] == 0 {
			continue
		}
		if causal.Data[i] == 0 {
			candidates[i/n]++
		}
		if seen(v) && !slices.Contains(keys[i/n], i%n) {
			keys[i/n] = append(keys[i/n], i%n)
		}
	}
	return keys, candidates
}

func (c Plan) option(name string) int {
	if c.Option == nil {
		return 0
	}
	return c.Option(name)
}
