package gpt

import (
	"strings"

	"github.com/pkg/errors"
)

// MemoryLimit is the most memory in bytes that [Config.Validate] lets a run
// ask for, by the estimate of [Config.Memory].
const MemoryLimit = 64 * gib

const gib = 1 << 30

// float32Size is the bytes of one number.
const float32Size = 4

// Memory estimates the bytes that training in float32 needs: weights; gradient
// and AdamW's two moments of what is trained; and for one micro-batch every
// activation with its gradient:
//
//	per token and layer  2·(7d + H(2dρ+dh) + H·dh + 2f)
//	per token            2·(3d + V)
//	masks                T², more where they differ between blocks or heads
//
// 7d are two normalisations, the projection, the MLP's output, two residual
// sums and a mask. Spelled stock operations keep every intermediate of an
// equation, about three times as much, and the H·T weights of every token.
func (c Config) Memory() (bytes float64) {
	parameters, activations := c.memory()
	return parameters + activations
}

func (c Config) memory() (parameters, activations float64) {
	base, adapters := c.count()
	trained := base
	if c.LoraR > 0 {
		trained = adapters
	}
	parameters = float32Size * (base + adapters + 3*trained + c.masks())

	block, head := c.linears()
	d := float64(c.NEmbd)
	token := 7 * d
	for _, l := range block {
		token += l.out() + l.rank(c)
		if strings.HasSuffix(l.Name, ".c_proj") {
			token += l.In - d // what comes out of attention or activation; the output is among the 7d
		}
	}
	if !c.Kernels && !c.Resolved().block().Plain {
		token += float64(c.NHead) * float64(c.BlockSize)
	}
	token = float64(c.NLayer)*token + 3*d + head.out() + head.rank(c)
	activations = float32Size * 2 * token * float64(c.BatchSize) * float64(c.BlockSize)
	if !c.Kernels {
		activations *= 3
	}
	return parameters, activations
}

// masks is the numbers in the masks.
func (c Config) masks() float64 {
	c = c.Resolved()
	switch a := c.attention(); {
	case c.block().Plain:
		return 0
	case a.Masks != nil:
		return a.Masks(c)
	}
	return oneMask(c)
}

// rank is what the adapters keep of one token.
func (l Linear) rank(c Config) float64 {
	if !c.Adapts(l.Name) {
		return 0
	}
	return float64(c.LoraR) * float64(len(l.Outs))
}

// checkParameters refuses a network whose parameters alone break the limit.
func (c Config) checkParameters(bytes float64) error {
	if bytes <= MemoryLimit {
		return nil
	}
	return errors.Errorf("memory: got about %.4g GiB for parameters and masks of n_layer %d, n_head %d, n_embd %d, vocab_size %d, "+
		"block_size %d, qk_size %d, v_size %d, n_inner %d, lora_r %d; want at most %d GiB", bytes/gib, c.NLayer, c.NHead,
		c.NEmbd, c.VocabSize, c.BlockSize, c.QKSize, c.VSize, c.NInner, c.LoraR, MemoryLimit/gib)
}

// checkMemory blames the larger part of what training needs.
func (c Config) checkMemory() error {
	parameters, activations := c.memory()
	if parameters+activations <= MemoryLimit {
		return nil
	}
	if parameters > activations {
		return c.checkParameters(parameters + activations)
	}
	return errors.Errorf("memory: got about %.4g GiB for activations of batch_size %d × block_size %d tokens with n_layer %d, "+
		"n_head %d, n_embd %d, vocab_size %d; want at most %d GiB", (parameters+activations)/gib, c.BatchSize, c.BlockSize,
		c.NLayer, c.NHead, c.NEmbd, c.VocabSize, MemoryLimit/gib)
}
