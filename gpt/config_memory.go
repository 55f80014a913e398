package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// MemoryLimit is the most memory in bytes that [Config.Validate] lets a run ask for, by the estimate of
// [Config.Memory].
const MemoryLimit = train.MemoryLimit

const gib = 1 << 30

// float32Size is the bytes of one number.
const float32Size = 4

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
	return parameters + activations
}

func (o outline) memory(c Config) (parameters, activations float64) {
	parameters = float32Size * (o.base + o.adapters + 3*o.trained(c) + o.values)
	token := o.token
	if !c.Kernels {
		token += o.rows * float64(c.BlockSize)
	}
	activations = float32Size * 2 * token * float64(c.BatchSize) * float64(c.BlockSize)
	if !c.Kernels {
		activations *= 3
	}
	return parameters, activations
}

// checkParameters refuses a network whose parameters alone break the limit.
func (c Config) checkParameters(bytes float64) error {
	if bytes <= MemoryLimit {
		return nil
	}
	return errors.Errorf("memory: got about %.4g GiB for parameters and masks of n_layer %d, n_head %d, n_embd %d, "+
		"vocab_size %d, block_size %d, qk_size %d, v_size %d, n_inner %d, lora_r %d; want at most %d GiB", bytes/gib,
		c.NLayer, c.NHead, c.NEmbd, c.VocabSize, c.BlockSize, c.QKSize, c.VSize, c.NInner, c.LoraR, MemoryLimit/gib)
}

// checkMemory names the larger part of what training needs.
func (o outline) checkMemory(c Config) error {
	parameters, activations := o.memory(c)
	if parameters+activations <= MemoryLimit {
		return nil
	}
	if parameters > activations {
		return c.checkParameters(parameters + activations)
	}
	return errors.Errorf("memory: got about %.4g GiB for activations of batch_size %d × block_size %d tokens with "+
		"n_layer %d, n_head %d, n_embd %d, vocab_size %d; want at most %d GiB", (parameters+activations)/gib,
		c.BatchSize, c.BlockSize, c.NLayer, c.NHead, c.NEmbd, c.VocabSize, MemoryLimit/gib)
}
