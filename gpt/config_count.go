package gpt

import "math"

// Resolved returns c with the default in every field where zero means it: what a constructor should read. It does not
// change VocabSize, and leaves the sizes of a head at 0 where [Config.Validate] would refuse n_head.
func (c Config) Resolved() Config {
	c = c.withDefaults()
	if c.LoraR > 0 && len(c.LoraTargets) == 0 {
		plain := c // whatever its sizes: an error is Validate's
		plain.Adapters, plain.NLayer = Adapters{}, max(1, c.NLayer)
		plain.BlockSize, plain.VocabSize = max(1, c.BlockSize), max(1, c.VocabSize)
		o, _ := plain.outline()
		c.LoraTargets = o.targets()
	}
	return c
}

// Count returns the number of parameters that the network's layers declare, and of those that are trained: all, or with
// lora_r > 0 the adapters alone, but what Frozen says. For the default attention, norm and MLP these are
//
//	V·d + positions + n_layer·block + norm + head     norm = d, or 2d with biases
//	block = 2·norm + d·H(2dρ+dh) + H·dh·d + 2·d·f     + H(2dρ+dh) + d + f + d with biases
//	positions = T·d learned, 0 otherwise
//	head  = 0 tied, d·V + V linear with biases, d·V without
//	adapter = r·(in + out), three on c_attn
//
// A network deeper than 128 blocks is counted as if the others were like these. Counts beyond int64, which
// [Config.Validate] refuses, are returned as math.MaxInt64.
func (c Config) Count() (total, trainable int64) {
	c = c.Resolved()
	o, _ := c.outline() // of a Config that is not valid, what could be counted
	return toInt64(o.base + o.adapters), toInt64(o.trained(c))
}

func (o outline) trained(c Config) float64 {
	if c.LoraR > 0 {
		return o.adapters - o.frozen
	}
	return o.base - o.frozen
}

func toInt64(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}

// FLOPsPerToken is what a token costs in the matrix products of the forward and the backward pass: 6 for every weight
// that multiplies it, 4 for a frozen one, and 6 for every product of two numbers in which it meets other tokens,
// counted without regard to the mask: T·H·(dρ+dh) a block, or what the attention, as an nn.Mixing, says. Of a block
// that does not build the attention it is given these are what the block says, as an nn.Mixing, and none if it is not
// one: layers that it builds inside are not asked.
func FLOPsPerToken(c Config) float64 {
	c = c.Resolved()
	o, _ := c.outline()
	each := 6.0
	if c.LoraR > 0 {
		each = 4
	}
	return each*(o.base-o.lookups) + 6*o.adapters - 2*o.still + 6*o.mixing
}
