package gpt

import "github.com/pedestrian-ml/pedestrian/gpt/train"

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
