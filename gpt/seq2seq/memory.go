package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// parameters counts what is declared, in float64, which no Config overflows: of all blocks but two, that they are as
// the second.
func (c Config) parameters() (n float64, err error) {
	declared := func(layers int) (n float64) {
		g, c := graph.Outline(graph.Float32), c
		c.NLayer = layers
		c.declare(g, 1)
		for _, p := range g.Params() {
			size := 1.0
			for _, d := range p.Shape() {
				size *= float64(d)
			}
			n += size
		}
		err = g.Err()
		return n
	}
	one := declared(1)
	if err != nil || c.NLayer == 1 {
		return one, err
	}
	return one + float64(c.NLayer-1)*(declared(2)-one), err
}

// activations estimates the numbers that a pass over one batch keeps, as gpt.Config.Memory does: of every token what
// the matrices take and give, and a row of weights for every head.
func (c Config) activations() float64 {
	d, h, s, t := float64(c.NEmbd), float64(c.NHead), float64(c.SourceSize), float64(c.TargetSize)
	heads := 2*h*float64(c.QKSize) + 2*h*float64(c.VSize)
	token := 7*d + heads + 2*float64(c.NInner)
	layer := s*(token+h*s) + t*(token+3*d+heads+h*(s+t))
	return float64(c.BatchSize) * (float64(c.NLayer)*layer + 3*d*(s+t) + t*float64(c.TargetVocab))
}

// checkParameters refuses a network of too many parameters, each of which is kept so many times.
func (c Config) checkParameters(times float64) error {
	c = c.Resolved()
	n, err := c.parameters()
	if err != nil {
		return err
	}
	return train.CheckMemory(times*n, "parameters", c.fields(), "n_layer", "n_head", "n_embd", "source_vocab", "target_vocab",
		"source_size", "target_size", "qk_size", "v_size", "n_inner")
}

// checkTraining refuses what training would need too much memory for: the gradient and two moments of every parameter,
// and the activations with their gradients.
func (c Config) checkTraining() error {
	if err := c.checkParameters(4); err != nil {
		return err
	}
	return train.CheckMemory(2*c.Resolved().activations(), "activations", c.fields(),
		"batch_size", "source_size", "target_size", "n_layer", "n_head", "n_embd", "target_vocab")
}
