package gpt

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Packed returns m for decoding and measuring, with the matrices of its linear layers and its head (the embedding, if
// they are tied) stored as bfloat16, or as int8 with a scale for every output, rounded from their present values. It
// needs less memory, and is faster in proportion because less is read. It computes what a model of the rounded weights
// does, with sums in float32, to the bit except with a tied head. No file changes, and m stays as it is; the original
// weights are freed when m is no longer referenced.
//
// The packed model has no weights to write, to set or to train. Packed returns an error for a packing other than
// graph.BF16 and graph.Int8, for a model without kernels or of a type other than float32, and for weights that are not
// finite.
func (m *Model) Packed(p graph.Packing) (*Model, error) {
	if err := m.loose(); err != nil {
		return nil, err
	}
	c, batch := m.Config, m.Tokens.Shape()[0]/m.Config.BlockSize
	g, err := m.Graph.Packed(p) // the last use of m, so that its weights can be freed while they are packed
	if err != nil {
		return nil, errors.Wrap(err, "model")
	}
	g.SetTraining(false)
	return New(g, c, batch)
}

// loose returns an error unless m is valid and its weights are not packed.
func (m *Model) loose() error {
	if err := m.Check(); err != nil {
		return err
	}
	for _, p := range m.Params() {
		if t := p.Tensor(); t.Len() == 0 {
			return errors.Errorf("model: its weights are packed, %s among them: "+
				"want the model from which they were packed", p.Name())
		}
	}
	return nil
}
