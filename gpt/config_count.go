package gpt

import "math"

// Resolved returns c with every default filled in where zero means the default; constructors should read the result. It
// does not change VocabSize, and leaves the sizes of a head at 0 if [Config.Validate] would refuse n_head.
func (c Config) Resolved() Config {
	c = c.withDefaults()
	if c.LoraR > 0 && len(c.LoraTargets) == 0 {
		plain := c // with valid sizes: Validate reports the others
		plain.Adapters, plain.NLayer = Adapters{}, max(1, c.NLayer)
		plain.BlockSize, plain.VocabSize = max(1, c.BlockSize), max(1, c.VocabSize)
		o, _ := plain.outline()
		c.LoraTargets = o.targets()
	}
	return c
}

// Count returns the number of parameters that the network's layers declare, and the number of those that are trained:
// all, or only the adapters if lora_r > 0, except those in Frozen. For the default attention, norm and MLP these are
//
//	V·d + positions + n_layer·block + norm + head     norm = d, or 2d with biases
//	block = 2·norm + d·H(2dρ+dh) + H·dh·d + 2·d·f     + H(2dρ+dh) + d + f + d with biases
//	positions = T·d learned, 0 otherwise
//	head  = 0 tied, d·V + V linear with biases, d·V without
//	adapter = r·(in + out), three on c_attn
//
// In a network deeper than 128 blocks the others count like these. Counts beyond int64, which [Config.Validate]
// refuses, are returned as math.MaxInt64.
func (c Config) Count() (total, trainable int64) {
	c = c.Resolved()
	o, _ := c.outline() // for an invalid Config it counts what it can
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

// FLOPsPerToken returns the operations that one token costs in the matrix products of the forward and the backward
// pass. Every weight that multiplies the token counts 6, a frozen one 4, and every product of two numbers in which the
// token meets other tokens counts 6, regardless of the mask. A block has T·H·(dρ+dh) such products, or the number that
// its attention returns as an nn.Mixing. For a block that does not build the given attention, it is the number that the
// block returns as an nn.Mixing, or 0 if the block is not one; the layers inside such a block are not counted.
func FLOPsPerToken(c Config) float64 {
	c = c.Resolved()
	o, _ := c.outline()
	each := 6.0
	if c.LoraR > 0 {
		each = 4
	}
	return each*(o.base-o.lookups) + 6*o.adapters - 2*o.still + 6*o.mixing
}
