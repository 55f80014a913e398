package seq2seq

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// counts holds the numbers of values that a network declares, in float64, which no Config overflows.
type counts struct {
	parameters float64
	values     float64 // that are stored for one pair, such as masks without kernels
}

// counts declares at most two blocks and counts every further block like the second.
func (c Config) counts() (n counts, err error) {
	declared := func(layers int) (n counts) {
		g, c := graph.Outline(graph.Float32), c
		g.Kernels, c.NLayer = c.Kernels, layers
		c.declare(g, 1)
		for _, p := range g.Params() {
			n.parameters += p.Entries()
		}
		for _, x := range g.Leaves() {
			n.values += x.Stored()
		}
		n.values -= n.parameters
		err = g.Err()
		return n
	}
	one, two, more := declared(1), declared(2), float64(c.NLayer-1)
	one.parameters += float64(more * (two.parameters - one.parameters))
	one.values += float64(more * (two.values - one.values))
	return one, err
}

// mostDeclared is the largest number of blocks that are declared to count the parameters of every layer.
const mostDeclared = 64

// layers returns the number of parameters of every layer by its place, or nil if there are too many.
func (c Config) layers() map[string]float64 {
	if c.NLayer > mostDeclared {
		return nil
	}
	g := graph.Outline(graph.Float32)
	g.Kernels = c.Kernels
	c.declare(g, 1)
	layers := map[string]float64{}
	for _, p := range g.Params() {
		layers[p.Name()[:max(0, strings.LastIndexByte(p.Name(), '.'))]] += p.Entries()
	}
	return layers
}

// Memory returns the number of bytes that training in float32 needs, like gpt.Config.Memory. It is an error if c is
// not a valid network.
func (c Config) Memory() (bytes float64, err error) {
	if err := c.ValidateModel(); err != nil {
		return 0, err
	}
	c = c.Resolved()
	// Layers list columns, and masks list the lengths of sequences.
	if c.TooWide() || c.BatchSize < 1 || c.BatchSize > 1<<20 {
		n, err := c.counts()
		tokens := float64(c.BatchSize) * (float64(c.SourceSize) + float64(c.TargetSize))
		return 4 * (float64(4*n.parameters) + n.values + float64(tokens*float64(c.NLayer)*8*float64(c.NEmbd))), err
	}
	declare := func(g *graph.Graph, blocks int) ([]string, graph.Expr, []graph.Expr) {
		c := c
		c.NLayer = blocks
		m := c.declare(g, c.BatchSize)
		return c.blocks(), m.objective, m.trained()
	}
	return train.Need(c.Training, c.Run, train.Hooks{}, c.optimizer(), c.NLayer, 1, declare)
}

// optimizer returns the function that builds the optimizer's rule.
func (c Config) optimizer() train.Optimizer {
	return parts.Find(c.known().Optimizers, c.Resolved().Optimizer).New
}

// checkParameters returns an error if the parameters, each of which is kept times times, and the masks need too much
// memory.
func (c Config) checkParameters(times float64) error {
	c = c.Resolved()
	n, err := c.counts()
	if err != nil {
		return err
	}
	return c.CheckMemory(4*(float64(times*n.parameters)+n.values), "parameters and masks", c.fields(),
		"n_layer", "n_head", "n_embd", "source_vocab", "target_vocab", "source_size", "target_size",
		"qk_size", "v_size", "n_inner")
}

// blocks returns the scopes of the blocks.
func (c Config) blocks() (places []string) {
	for i := range c.NLayer {
		places = append(places, fmt.Sprintf("encoder.h.%d", i), fmt.Sprintf("decoder.h.%d", i))
	}
	return places
}
