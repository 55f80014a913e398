package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
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

// checkParameters refuses a network of too many bytes, each number of which is kept so many times.
func (c Config) checkParameters(times float64) error {
	c = c.Resolved()
	n, err := c.parameters()
	if err != nil {
		return err
	}
	bytes := times * train.Float32Size * n
	if bytes <= train.MemoryLimit {
		return nil
	}
	return errors.Errorf("memory: got about %.4g GiB for parameters of n_layer %d, n_head %d, n_embd %d, source_vocab %d, "+
		"target_vocab %d, source_size %d, target_size %d, qk_size %d, v_size %d, n_inner %d; want at most %d GiB", bytes/train.GiB, c.NLayer,
		c.NHead, c.NEmbd, c.SourceVocab, c.TargetVocab, c.SourceSize, c.TargetSize, c.QKSize, c.VSize, c.NInner, train.MemoryLimit/train.GiB)
}

// checkTraining refuses what training would need too much memory for: the gradient and two moments of every parameter,
// and the activations with their gradients.
func (c Config) checkTraining() error {
	if err := c.checkParameters(4); err != nil {
		return err
	}
	c = c.Resolved()
	bytes := 2 * train.Float32Size * c.activations()
	if bytes <= train.MemoryLimit {
		return nil
	}
	return errors.Errorf("memory: got about %.4g GiB for activations of batch_size %d sources of source_size %d and targets of target_size %d "+
		"with n_layer %d, n_head %d, n_embd %d, target_vocab %d; want at most %d GiB", bytes/train.GiB, c.BatchSize, c.SourceSize, c.TargetSize,
		c.NLayer, c.NHead, c.NEmbd, c.TargetVocab, train.MemoryLimit/train.GiB)
}
