package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Packed is m for decoding and measuring, in less memory and as much faster as that is less to read: the matrices of
// its linear layers and its head, which is the embedding where they are tied, are kept as bfloat16, or as int8 with a
// scale for every output, rounded from what they are now. It computes what a model of the rounded weights does, with
// sums in float32: but for a tied head the same bits. No file changes, and m stays as it is; who drops m has the
// weights once.
//
// It has no weights to write, to set or to train. It is an error for another packing than graph.BF16 and graph.Int8,
// for a model without kernels or of another type than float32, and for weights that are not finite.
func (m *Model) Packed(p graph.Packing) (*Model, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	c, batch := m.Config, m.Tokens.Shape()[0]/m.Config.BlockSize
	g, err := m.Graph.Packed(p) // with which the last use of m is over: its weights may go as they are packed
	if err != nil {
		return nil, errors.Wrap(err, "model")
	}
	g.SetTraining(false)
	return New(g, c, batch)
}

// loose returns an error unless m is made and has its weights as numbers of their own.
func (m *Model) loose() error {
	if err := m.Check(); err != nil {
		return err
	}
	for _, p := range m.Params() {
		if t := p.Tensor(); t.Len() == 0 {
			return errors.Errorf("model: its weights are packed, %s among them: want the model that they were packed of", p.Name())
		}
	}
	return nil
}
