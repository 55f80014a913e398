package gpt

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

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
// lora_r > 0 the adapters alone. For the default attention and norm these are
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
		return o.adapters
	}
	return o.base
}

func toInt64(x float64) int64 {
	if x >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(x)
}

// FLOPsPerToken is what a token costs in the matrix products of the forward and the backward pass: 6 for every weight
// that multiplies it, 4 for a frozen one, and 6 for every product of two numbers in which it meets other tokens,
// counted without regard to the mask: T·H·(dρ+dh) a block, or what the attention, as an nn.Mixing, says.
func FLOPsPerToken(c Config) float64 {
	c = c.Resolved()
	o, _ := c.outline()
	each := 6.0
	if c.LoraR > 0 {
		each = 4
	}
	return each*(o.base-o.lookups) + 6*o.adapters + 6*o.mixing
}

// MemoryLimit is the most memory in bytes that [Config.Validate] lets a run ask for, by the estimate of
// [Config.Memory].
const MemoryLimit = train.MemoryLimit

// Memory estimates the bytes that training in float32 needs: weights; gradient and AdamW's two moments of what is
// trained; masks and other values that the layers declare; and for one micro-batch every activation with its gradient:
//
//	per token and layer  2·(7d + H(2dρ+dh) + H·dh + 2f)
//	per token            2·(3d + V)
//
// 7d are two normalisations, the projection, the MLP's output, two residual sums and a mask; the others are what the
// matrices of a block take and give. Reference operations keep every intermediate of an equation, about three times as
// much, and the H·T weights of every token.
func (c Config) Memory() (bytes float64) {
	c = c.Resolved()
	o, _ := c.outline()
	parameters, activations := o.memory(c)
	return 4 * (parameters + activations)
}

func (o outline) memory(c Config) (parameters, activations float64) {
	token, kept := o.token, 2.0
	if !c.Kernels {
		token, kept = token+o.rows*float64(c.BlockSize), 6
	}
	return o.base + o.adapters + 3*o.trained(c) + o.values, kept * token * float64(c.BatchSize) * float64(c.BlockSize)
}

// checkParameters refuses a network whose parameters alone break the limit.
func (c Config) checkParameters(numbers float64) error {
	return train.CheckMemory(numbers, "parameters and masks", c.fields(),
		"n_layer", "n_head", "n_embd", "vocab_size", "block_size", "qk_size", "v_size", "n_inner", "lora_r")
}

// checkMemory names the larger part of what training needs.
func (o outline) checkMemory(c Config) error {
	parameters, activations := o.memory(c)
	if parameters > activations {
		return c.checkParameters(parameters + activations)
	}
	return train.CheckMemory(parameters+activations, "activations", c.fields(),
		"batch_size", "block_size", "n_layer", "n_head", "n_embd", "vocab_size")
}
