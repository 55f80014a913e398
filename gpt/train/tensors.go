package train

import (
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Named is a tensor and its name in a file.
type Named struct {
	Name string
	graph.Tensor
	Turned bool // a matrix whose columns are the rows of the one in the file
}

// Parameters are their tensors, under their own names.
func Parameters(params []graph.Expr) []Named {
	list := make([]Named, len(params))
	for i, p := range params {
		list[i] = Named{Name: p.Name(), Tensor: p.Tensor()}
	}
	return list
}

// WriteTensors writes a safetensors file. Numbers that are not finite are refused.
func WriteTensors(w io.Writer, tensors []Named, metadata map[string]string) error {
	if w == nil {
		return errors.New("nothing to write to: the writer is nil")
	}
	list := make([]safetensors.Tensor, len(tensors))
	for i, t := range tensors {
		if err := t.Finite(t.Name); err != nil {
			return err
		}
		if t.Turned {
			t.Tensor = turned(t.Tensor)
		}
		list[i] = safetensors.Tensor{Name: t.Name, Shape: t.Shape, F32: t.F32, F64: t.F64}
	}
	return safetensors.Write(w, list, metadata)
}

func turned(t graph.Tensor) graph.Tensor {
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
