package gpt

import (
	"io"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// headWeight is the one name whose tensor lies the other way round in the files of GPT-2: it is (V, d) there, like the
// embedding that it is usually tied to, and (d, V) here, like every weight.
const headWeight = "lm_head.weight"

// WriteWeights writes the parameters as a safetensors file under GPT-2's names. Numbers that are not finite are refused.
func (m *Model) WriteWeights(w io.Writer) error {
	var list []safetensors.Tensor
	for _, p := range m.Params() {
		t := p.Tensor()
		if err := t.Finite(p.Name()); err != nil {
			return errors.Wrap(err, "weights")
		}
		if p.Name() == headWeight {
			t = transposed(t)
		}
		list = append(list, file(p.Name(), t))
	}
	return safetensors.Write(w, list, map[string]string{"format": "pt"})
}

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose names
// may have the prefix "transformer." and whose mask buffers are passed over. A parameter that is missing, a tensor that
// is not a parameter, another shape, and a number that is not finite are errors, and then no parameter has changed.
func (m *Model) ReadWeights(data []byte) error {
	list, _, err := safetensors.Read(data)
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	found := map[string]graph.Tensor{}
	for _, f := range list {
		name := strings.TrimPrefix(f.Name, "transformer.")
		if maskBuffer(name) || m.Config.Tie && name == headWeight {
			continue
		}
		t := graph.Tensor{Shape: f.Shape, F32: f.F32, F64: f.F64}
		if name == headWeight && len(t.Shape) == 2 {
			t = transposed(t)
		}
		if _, twice := found[name]; twice {
			return errors.Errorf("weights: %s stands in the file with and without its prefix", name)
		}
		found[name] = t
	}
	return restoreAll(m.Params(), found, "weights")
}

func maskBuffer(name string) bool {
	return strings.HasPrefix(name, "h.") && (strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias"))
}

// restoreAll checks that found has exactly the parameters, and then copies it into them.
func restoreAll(params []graph.Expr, found map[string]graph.Tensor, what string) error {
	for _, p := range params {
		t, ok := found[p.Name()]
		if !ok {
			return errors.Errorf("%s: %s is missing", what, p.Name())
		}
		if want := p.Tensor().Shape; !slices.Equal(t.Shape, want) {
			return errors.Errorf("%s: %s has shape %v in the file, %v in the model", what, p.Name(), t.Shape, want)
		}
		if t.Len() != p.Tensor().Len() {
			return errors.Errorf("%s: %s holds %d floating-point numbers, want %d", what, p.Name(), t.Len(), p.Tensor().Len())
		}
		if err := t.Finite(p.Name()); err != nil {
			return errors.Wrap(err, what)
		}
	}
	if len(found) > len(params) {
		for name := range found {
			if !slices.ContainsFunc(params, func(p graph.Expr) bool { return p.Name() == name }) {
				return errors.Errorf("%s: the file has %s, the model does not", what, name)
			}
		}
	}
	for _, p := range params {
		copyTensor(p.Tensor(), found[p.Name()])
	}
	return nil
}

func copyTensor(to, from graph.Tensor) {
	if copy(to.F32, from.F32)+copy(to.F64, from.F64) == to.Len() {
		return
	}
	for i := range to.Len() { // float64 to float32, or the reverse
		to.Set(i, from.At(i))
	}
}

func file(name string, t graph.Tensor) safetensors.Tensor {
	return safetensors.Tensor{Name: name, Shape: t.Shape, F32: t.F32, F64: t.F64}
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
