package gpt

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// headWeight is the one name whose tensor lies the other way round in the files of GPT-2: it is (V, d) there, like the
// embedding that it is mostly tied to, and (d, V) here, like every weight.
const headWeight = "lm_head.weight"

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. Numbers that are not finite are
// refused.
func (m *Model) WriteWeights(w io.Writer) error {
	if err := m.made(); err != nil {
		return err
	}
	return m.write(w, m.Params())
}

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose
// names may have the prefix "transformer." and whose mask buffers are ignored. A parameter that is missing, a tensor
// that is not a parameter, another shape, and a number that is not finite are errors, and then no parameter has
// changed.
func (m *Model) ReadWeights(data []byte) error {
	if err := m.made(); err != nil {
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
	return errors.Wrap(train.WriteTensors(w, asFiled(params), map[string]string{"format": "pt"}), "weights")
}

// read sets exactly these parameters from a file.
func (m *Model) read(f *safetensors.File, params []graph.Expr) error {
	_, hasHead := m.Graph.Leaf(headWeight)
	f.Entries = slices.DeleteFunc(f.Entries, func(e safetensors.Entry) bool { return notRead(e.Name, hasHead) })
	for i, e := range f.Entries {
		f.Entries[i].Name = plainName(e.Name)
	}
	return errors.Wrap(train.Restore(asFiled(params), f), "weights")
}

// asFiled are parameters as they lie in a file.
func asFiled(params []graph.Expr) []train.Named {
	list := train.Parameters(params)
	for i, t := range list {
		list[i].Turned = t.Name == headWeight
	}
	return list
}

func plainName(name string) string { return strings.TrimPrefix(name, "transformer.") }

// notRead is whether a tensor is none of a model's parameters, but of what files have beside them.
func notRead(name string, hasHead bool) bool {
	name = plainName(name)
	mask := strings.HasPrefix(name, "h.") &&
		(strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias"))
	return mask || !hasHead && name == headWeight
}
