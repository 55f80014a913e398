package gpt

import (
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// headWeight is the one name whose tensor lies the other way round in the files of GPT-2: it is (V, d) there, like the
// embedding that it is mostly tied to, and (d, V) here, like every weight.
const headWeight = "lm_head.weight"

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. Numbers that are not finite are
// refused.
func (m *Model) WriteWeights(w io.Writer) error { return m.write(w, m.Params()) }

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose
// names may have the prefix "transformer." and whose mask buffers are ignored. A parameter that is missing, a tensor
// that is not a parameter, another shape, and a number that is not finite are errors, and then no parameter has
// changed.
func (m *Model) ReadWeights(data []byte) error { return m.read(data, m.Params()) }

// write writes parameters under GPT-2's names.
func (m *Model) write(w io.Writer, params []graph.Expr) error {
	list := train.Parameters(params)
	for i, t := range list {
		if t.Name == headWeight {
			list[i].Tensor = transposed(t.Tensor)
		}
	}
	return errors.Wrap(train.WriteTensors(w, list, map[string]string{"format": "pt"}), "weights")
}

// read sets exactly these parameters from a file.
func (m *Model) read(data []byte, params []graph.Expr) error {
	list, err := train.ReadTensors(data)
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	for i, t := range list {
		list[i].Name = strings.TrimPrefix(t.Name, "transformer.")
		if list[i].Name == headWeight && len(t.Shape) == 2 {
			list[i].Tensor = transposed(t.Tensor)
		}
	}
	_, hasHead := m.Graph.Leaf(headWeight)
	list = slices.DeleteFunc(list, func(t train.Named) bool { return isMaskBuffer(t.Name) || !hasHead && t.Name == headWeight })
	return errors.Wrap(train.Restore(train.Parameters(params), list), "weights")
}

func isMaskBuffer(name string) bool {
	return strings.HasPrefix(name, "h.") && (strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias"))
}

func transposed(t graph.Tensor) graph.Tensor {
	rows, cols := t.Shape[0], t.Shape[1]
	u := t.Clone()
	u.Shape = []int{cols, rows}
	for i := range rows {
		for j := range cols {
			u.Set(j*rows+i, t.At(i*cols+j))
		}
	}
	return u
}
