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
func (m *Model) WriteWeights(w io.Writer) error { return m.write(w, m.Params()) }

// ReadWeights sets the parameters from a safetensors file: one written by WriteWeights, or a published GPT-2, whose names
// may have the prefix "transformer." and whose mask buffers are passed over. A parameter that is missing, a tensor that
// is not a parameter, another shape, and a number that is not finite are errors, and then no parameter has changed.
func (m *Model) ReadWeights(data []byte) error { return m.read(data, m.Params()) }

// write writes parameters under GPT-2's names. Numbers that are not finite are refused.
func (m *Model) write(w io.Writer, params []graph.Expr) error {
	var list []safetensors.Tensor
	for _, p := range params {
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

// read sets exactly these parameters from a file.
func (m *Model) read(data []byte, params []graph.Expr) error {
	list, _, err := safetensors.Read(data)
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	found := map[string]graph.Tensor{}
	_, ownHead := m.Graph.Leaf(headWeight)
	for _, f := range list {
		name := strings.TrimPrefix(f.Name, "transformer.")
		if maskBuffer(name) || !ownHead && name == headWeight {
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
	var places []place
	for _, p := range params {
		places = append(places, place{p.Name(), p.Tensor()})
	}
	return errors.Wrap(restore(places, found), "weights")
}

func maskBuffer(name string) bool {
	return strings.HasPrefix(name, "h.") && (strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias"))
}

// place is a tensor to be restored, and its name in the file.
type place struct {
	name string
	to   graph.Tensor
}

// restore checks that found is exactly what belongs in the places, and then copies it there.
func restore(places []place, found map[string]graph.Tensor) error {
	expected := map[string]bool{}
	for _, p := range places {
		expected[p.name] = true
		t, ok := found[p.name]
		switch {
		case !ok:
			return errors.Errorf("%s is missing", p.name)
		case !slices.Equal(t.Shape, p.to.Shape):
			return errors.Errorf("%s has shape %v in the file, %v in the model", p.name, t.Shape, p.to.Shape)
		case t.Len() != p.to.Len():
			return errors.Errorf("%s holds %d floating-point numbers, want %d", p.name, t.Len(), p.to.Len())
		}
		found[p.name] = converted(t, p.to)
		if err := found[p.name].Finite(p.name); err != nil {
			return err
		}
	}
	for name := range found {
		if !expected[name] {
			return errors.Errorf("the file has %s, the model does not", name)
		}
	}
	for _, p := range places {
		copy(p.to.F32, found[p.name].F32)
		copy(p.to.F64, found[p.name].F64)
	}
	return nil
}

// converted is t in the type of like; a float64 beyond the range of float32 becomes ±∞ there.
func converted(t, like graph.Tensor) graph.Tensor {
	if (t.F32 != nil) == (like.F32 != nil) {
		return t
	}
	u := like.Clone()
	for i := range u.Len() {
		u.Set(i, t.At(i))
	}
	return u
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
