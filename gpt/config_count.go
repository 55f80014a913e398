package gpt

import (
	"math"
	"slices"
	"strings"
)

// linears returns the matrices of one block, then that of the head. The counts
// are float64, exact below 2^53 and never overflowing on a hostile Config.
func (c Config) linears() (block []Linear, head Linear) {
	c = c.Resolved()
	b := c.block()
	if b.Linears != nil {
		block = b.Linears(c)
	}
	if !b.Plain {
		if attention := c.attention().Linears; attention != nil {
			block = append(block, attention(c)...)
		}
		d, inner := float64(c.NEmbd), float64(c.NInner)
		block = append(block, Linear{"mlp.c_fc", d, []float64{inner}, true}, Linear{"mlp.c_proj", inner, []float64{d}, true})
	}
	head = Linear{Name: "lm_head", In: float64(c.NEmbd), Outs: []float64{float64(c.VocabSize)}}
	if own := c.head().Linear; own != nil {
		head = own(c)
	}
	return block, head
}

// out is the number of columns.
func (l Linear) out() float64 {
	var sum float64
	for _, out := range l.Outs {
		sum += out
	}
	return sum
}

// weight counts the matrix and its bias.
func (l Linear) weight(bias bool) float64 {
	n := l.In * l.out()
	if bias && l.Bias {
		n += l.out()
	}
	return n
}

// adapters counts d (in, r) and u (r, out) of every adapter: r·(in + out) each.
func (l Linear) adapters(r float64) float64 {
	return r * (l.In*float64(len(l.Outs)) + l.out())
}

// adaptable lists the last parts of the names of all matrices.
func (c Config) adaptable() (targets []string) {
	c.LoraR = 0
	block, head := c.linears()
	if c.head().Linear != nil {
		block = append(block, head)
	}
	for _, l := range block {
		name := l.Name[strings.LastIndexByte(l.Name, '.')+1:]
		if !slices.Contains(targets, name) {
			targets = append(targets, name)
		}
	}
	return targets
}

// Adapts says whether the layer of this name has LoRA adapters: lora_r > 0 and
// the name ends, at a dot, in one of lora_targets. It takes "h.3.mlp.c_fc" as
// well as "mlp.c_fc".
func (c Config) Adapts(layer string) bool {
	if c.LoraR <= 0 {
		return false
	}
	for _, target := range c.Resolved().LoraTargets {
		if layer == target || strings.HasSuffix(layer, "."+target) {
			return true
		}
	}
	return false
}

// Count returns the number of parameters, and of those that are trained: all,
// or with lora_r > 0 the adapters alone.
//
//	V·d + positions + n_layer·block + norm + head     norm = d, or 2d with biases
//	block = 2·norm + d·H(2dρ+dh) + H·dh·d + 2·d·f     + H(2dρ+dh) + d + f + d with biases
//	positions = T·d learned, 0 otherwise
//	head  = 0 tied, d·V + V of its own with biases, d·V without
//	adapter = r·(in + out), three on c_attn
//
// for the usual attention and norm; the others bring formulas of their own. A
// post-norm network ends on the last block's own normalisation and has no
// other. Variants in Parts without a formula count nothing. Counts beyond
// int64, which [Config.Validate] refuses, are returned as math.MaxInt64.
func (c Config) Count() (total, trainable int64) {
	base, adapters := c.count()
	if c.LoraR > 0 {
		return whole(base + adapters), whole(adapters)
	}
	return whole(base), whole(base)
}

// count returns the parameters without adapters, and the adapters'.
func (c Config) count() (base, adapters float64) {
	block, head := c.linears()
	d, layers, r := float64(c.NEmbd), float64(c.NLayer), float64(c.LoraR)
	for _, l := range block {
		base += layers * l.weight(c.Bias)
		if c.Adapts(l.Name) {
			adapters += layers * l.adapters(r)
		}
	}
	if c.Adapts(head.Name) {
		adapters += head.adapters(r)
	}
	c = c.Resolved()
	if c.head().Linear != nil {
		base += head.weight(c.Bias)
	}
	base += float64(c.VocabSize)*d + tally(c.position().Count, c)
	b, norm := c.block(), tally(c.norm().Count, c)
	base += layers * tally(b.Others, c)
	if !b.Plain {
		base += layers * (2*norm + tally(c.attention().Others, c))
	}
	if b.Final {
		base += norm
	}
	return base, adapters
}

// tally is the count, 0 where there is nothing to count.
func tally(count func(Config) float64, c Config) float64 {
	if count == nil {
		return 0
	}
	return count(c)
}

func whole(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}
