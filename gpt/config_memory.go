package gpt

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Memory returns the number of bytes that training in float32 needs, on each machine if there are several: parameters,
// the optimizer's state, masks and ids, and activations and gradients, planned as a run plans them. It is exact for up
// to four blocks; in a deeper network every further block needs as much as one of these. For an invalid Config it
// counts what it can.
func (c Config) Memory() (bytes float64) {
	c = c.Resolved()
	o, _ := c.outline()
	bytes, err := c.need(o)
	if err != nil {
		return c.parameterBytes(o)
	}
	return bytes
}

// parameterBytes returns the memory that does not depend on the batch: parameters and masks, gradients, and the
// optimizer's state.
func (c Config) parameterBytes(o outline) float64 {
	return 4 * (o.base + o.adapters + o.values + (1+train.Kept(c.Training, c.Run, c.Hooks))*o.trained(c))
}

// need is Memory of c, which is resolved and declares o. It does not plan very wide layers, since a layer may list its
// columns, nor a long recurrence, since its reference form lists its steps; for these it returns a lower bound.
func (c Config) need(o outline) (bytes float64, err error) {
	if c.TooWide() || c.Block == "elman" && !c.Kernels && c.BlockSize > 1<<10 {
		tokens, d := float64(c.BatchSize)*float64(c.BlockSize), float64(c.NEmbd)
		heads := float64(c.NHead) * (2*float64(c.QKSize) + float64(c.VSize))
		token := float64(c.NLayer)*(4*d+heads+float64(c.NInner)) + float64(c.VocabSize)
		return c.parameterBytes(o) + 4*tokens*token, nil
	}
	build := func(g *graph.Graph, blocks int) ([]string, graph.Expr, []graph.Expr) {
		c := c
		c.NLayer = blocks
		m := c.declare(g, c.BatchSize)
		return c.blocks(), m.Loss, m.candidates()
	}
	return train.Need(c.Training, c.Run, c.Hooks, c.NLayer, build)
}

// blocks returns the paths of the blocks.
func (c Config) blocks() (places []string) {
	for i := range c.NLayer {
		places = append(places, fmt.Sprintf("h.%d", i))
	}
	return places
}

// checkParameters returns an error if bytes, which parameters and masks need even without training, exceed the memory
// limit.
func (c Config) checkParameters(bytes float64) error {
	return c.CheckMemory(bytes, "parameters and masks", c.fields(),
		"n_layer", "n_head", "n_embd", "vocab_size", "block_size", "qk_size", "v_size", "n_inner", "lora_r")
}

// checkMemory returns an error if training would exceed the memory limit. It names the larger part of the memory.
func (c Config) checkMemory(o outline) error {
	c = c.Resolved()
	parameters := c.parameterBytes(o)
	if err := c.checkParameters(parameters); err != nil {
		return err
	}
	bytes, err := c.need(o)
	switch {
	case err != nil:
		return err
	case parameters > bytes/2:
		return c.checkParameters(bytes)
	}
	return c.CheckMemory(bytes, "activations", c.fields(),
		"batch_size", "block_size", "n_layer", "n_head", "n_embd", "vocab_size")
}
