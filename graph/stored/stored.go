// Package stored has the formats of weights that a model multiplies by but does not train. Start with Packing, the
// formats for graph.Graph.Packed, and with Store for rows in the blocks of GGUF files, which are read where they are.
// Package graph does not import it: it has the interfaces of a format, graph.Packing, and of a matrix, graph.Weights.
package stored

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/quant"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Packing is a format for graph.Graph.Packed.
type Packing string

// The packings.
const (
	BF16 Packing = "bf16" // the upper half of a float32, rounded to the nearest: within 2⁻⁸ of the number
	Int8 Packing = "int8" // −127 … 127 times a float32 of its output: within 1/254 of the largest weight of that output
	// Int4 stores blocks of 32 weights w of an output as d·(n − 8) with 0 ≤ n < 16, as Q4_0 of GGUF files: d is a
	// binary16 number, and w is within |d| of its largest weight −8·d. Products with it also round x, for each 32
	// inputs, to −127 … 127 times a float32. A matrix whose inputs are no multiple of 32 stays as it is.
	Int4 Packing = "int4"
)

// String returns the name of p.
func (p Packing) String() string { return string(p) }

// Validate returns an error that lists the packings if p is not one of them.
func (p Packing) Validate() error {
	if p != BF16 && p != Int8 && p != Int4 {
		return errors.Errorf("got %q, want %s, %s or %s%s", string(p), BF16, Int8, Int4,
			spelling.Hint(string(p), []string{string(BF16), string(Int8), string(Int4)}))
	}
	return nil
}

// Saves reports whether packing a matrix (k, n) saves memory; with BF16 and Int8, whether it does in both orientations.
func (p Packing) Saves(k, n int) bool {
	switch {
	case k < 1 || n < 1:
		return false
	case p == Int4:
		return k%32 == 0
	}
	return gemm.PackedBytes(k, n, p == Int8) < 4*k*n && gemm.PackedBytes(n, k, p == Int8) < 4*k*n
}

// Pack returns w (k, n), or (n, k) if it is stored transposed, in the format, computed on the threads of g. It returns
// an error if w is no matrix of float32, if a number is too large, and for Int4 if k is no multiple of 32.
func (p Packing) Pack(g *graph.Graph, w graph.Tensor, transposed bool) (graph.Weights, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if len(w.Shape) != 2 || min(w.Shape[0], w.Shape[1]) < 1 || len(w.F32)%w.Shape[1] != 0 ||
		len(w.F32)/w.Shape[1] != w.Shape[0] {
		return nil, errors.Errorf("got %d numbers of float32 in shape %v, want a matrix", len(w.F32), w.Shape)
	}
	k, n, m := w.Shape[0], w.Shape[1], gemm.Mat(w.F32, w.Shape[1])
	if transposed {
		k, n, m = n, k, m.T()
	}
	pool := g.Pool()
	switch p {
	case Int8:
		return gemm.PackInt8(pool, k, n, m), nil
	case Int4:
		if k%32 != 0 {
			return nil, errors.Errorf("got %d inputs, want a multiple of 32 for %s", k, p)
		}
		if w, err := quant.Pack(pool, blocks.Q4_0, k, n, m); err == nil {
			return w, nil
		}
	default:
		if w := gemm.PackBF16(pool, k, n, m); w.Finite() {
			return w, nil
		}
	}
	return nil, errors.Errorf("a number too large for %s", p)
}

// Rows are rows of a matrix of weights in blocks, as GGUF files store them: each holds the weights of one output.
type Rows struct {
	Type   blocks.Type // F32, BF16, Q8_0 or Q4_0
	Data   []byte      // the blocks, which are read and must not change
	Output []int       // the output of each row
	Owner  any         // optional: is kept as long as the rows, so that Data stays valid
}

// Store declares how g, on which nothing has been declared, stores a parameter: as the given rows, without copying
// them. like is the same parameter on another graph: see [graph.Graph.StorePacked]. Its rows are tokens if Gather reads
// it, its columns outputs if Linear multiplies by it. A product with rows of Q8_0 or Q4_0 also rounds x, for each 32
// inputs, to −127 … 127 times a float32. Store returns an error for rows that do not fit, and for numbers that are not
// finite.
func Store(g *graph.Graph, like graph.Expr, rows ...Rows) error {
	return g.StorePacked(like, func(k, n int) (graph.Weights, error) {
		parts := make([]quant.Part, len(rows))
		for i, r := range rows {
			parts[i] = quant.Part{Type: r.Type, Data: r.Data, Output: slices.Clone(r.Output), Owner: r.Owner}
		}
		w, err := quant.New(k, n, parts...)
		if err != nil {
			return nil, err
		}
		return w, w.Finite(g.Pool())
	})
}
