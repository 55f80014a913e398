package gpt

import (
	"bytes"
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. Numbers that are not finite are
// refused.
func (m *Model) WriteWeights(w io.Writer) error {
	if err := m.loose(); err != nil {
		return err
	}
	return m.write(w, m.Params())
}

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose
// names may have the prefix "transformer." and whose mask buffers are ignored. A parameter that is missing, a tensor
// that is not a parameter, another shape, and a number that is not finite are errors, and then no parameter has
// changed.
func (m *Model) ReadWeights(data []byte) error {
	if err := m.loose(); err != nil {
		return err
	}
	f, err := safetensors.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	return m.read(f, m.Params())
}

// write writes parameters under GPT-2's names.
func (m *Model) write(w io.Writer, params []graph.Expr) error {
	return errors.Wrap(train.WriteTensors(w, m.ours().lay(params), map[string]string{"format": "pt"}, ""), "weights")
}

// read sets exactly these parameters from a file of ours, or changes nothing.
func (m *Model) read(f *safetensors.File, params []graph.Expr) error {
	source := m.ours()
	return errors.Wrap(train.Restore(source.lay(params), source.plain(f, m.ownHead())), "weights")
}

func (m *Model) ownHead() bool {
	_, own := m.Graph.Leaf(layout.HeadWeight)
	return own
}

// fill sets exactly these parameters from a checkpoint, whose model m is or was made for; after an error some are set.
func (m *Model) fill(s source, cp *checkpoint.Checkpoint, params []graph.Expr) error {
	f, err := train.OpenWeights(cp)
	if err == nil {
		err = train.Fill(s.lay(params), s.plain(f, m.ownHead()))
	}
	return errors.Wrap(err, "weights")
}

// ours is the weights of m as WriteWeights writes them.
func (m *Model) ours() source { return source{Config: m.Config, names: layout.GPT2()} }
