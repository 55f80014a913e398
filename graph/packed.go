package graph

import (
	"runtime"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/quant"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// Packing is the format of weights that are multiplied by and not trained.
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

// Validate returns an error that lists the packings if p is not one of them.
func (p Packing) Validate() error {
	if p != BF16 && p != Int8 && p != Int4 {
		return errors.Errorf("weights: got %q, want %s, %s or %s%s", string(p), BF16, Int8, Int4,
			spelling.Hint(string(p), []string{string(BF16), string(Int8), string(Int4)}))
	}
	return nil
}

// Packed returns an empty Graph like a Sibling, but with a copy of the current parameters. It packs the matrices that
// Linear and LinearT of g multiply by, if that saves memory. A packed parameter declared on the new Graph has a shape
// and no numbers. Linear, LinearT and Gather read it packed; for other operations it is unpacked. Sums are in float32.
// A product with a packed matrix has no gradient. Packed returns an error for a graph without kernels or of another
// type than Float32, and for numbers that are not finite.
func (g *Graph) Packed(p Packing) (*Graph, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	switch {
	case !g.exists():
		return nil, g.orFailed("").Err()
	case !g.Kernels || g.ops.Dtype != Float32:
		return nil, errors.Errorf(
			"weights: %s needs a float32 model with kernels, this one has kernels %t and computes in %v",
			p, g.Kernels, g.ops.Dtype)
	case len(g.store.packed) > 0:
		return nil, errors.Errorf("weights: %s cannot pack weights that are already packed", p)
	}
	lock := g.store.RWMutex // not the store, so that its matrices can be collected one by one
	lock.RLock()
	defer lock.RUnlock()
	s := g.Sibling()
	s.store = newStore()
	s.store.packed = map[string]*packedMatrix{}
	var matrices []loose
	for _, x := range g.params {
		transposed, multiplied := g.multiplied[x.name]
		if multiplied && len(x.shape) == 2 && saves(p, x.shape, transposed) {
			matrices = append(matrices, loose{x.name, x.Tensor(), transposed})
		} else {
			s.store.params[x.name] = x.dense.Clone().(*tensor.Dense)
		}
	}
	return s, s.pack(p, matrices)
}

// loose is a matrix that is to be packed; it does not refer to the graph.
type loose struct {
	name string
	Tensor
	transposed bool
}

// saves reports whether packing a matrix saves memory in both orientations.
func saves(p Packing, shape []int, transposed bool) bool {
	if p == Int4 {
		in := shape[0]
		if transposed {
			in = shape[1]
		}
		return in%32 == 0
	}
	return gemm.PackedBytes(shape[0], shape[1], p == Int8) < 4*shape[0]*shape[1] &&
		gemm.PackedBytes(shape[1], shape[0], p == Int8) < 4*shape[0]*shape[1]
}

// pack packs the matrices into g's store. A caller that drops their graph need not hold them twice, hence the explicit
// garbage collections.
func (g *Graph) pack(p Packing, matrices []loose) error {
	const often = 1 << 26 // bytes of garbage between two collections
	garbage := 0
	for i, t := range matrices {
		if err := t.Finite(t.name); err != nil {
			return errors.Wrap(err, "weights")
		}
		k, n, m := t.Shape[0], t.Shape[1], gemm.Mat(t.F32, t.Shape[1])
		if t.transposed {
			k, n, m = n, k, m.T()
		}
		w, ok := g.packedBy(p, k, n, m)
		if !ok {
			return errors.Errorf("weights: %s: a number too large for %s", t.name, p)
		}
		g.store.packed[t.name] = &packedMatrix{Weights: w, transposed: t.transposed}
		garbage += 4 * t.Len()
		if matrices[i], t = (loose{}), (loose{}); garbage > often {
			garbage = 0
			runtime.GC()
		}
	}
	return nil
}

// packedBy returns m (k, n) packed. ok is false if a number is too large.
func (g *Graph) packedBy(p Packing, k, n int, m gemm.Matrix[float32]) (w ops.Weights, ok bool) {
	switch p {
	case Int4:
		w, err := quant.Pack(g.ops.Pool, blocks.Q4_0, k, n, m)
		return w, err == nil
	case Int8:
		return gemm.PackInt8(g.ops.Pool, k, n, m), true
	}
	half := gemm.PackBF16(g.ops.Pool, k, n, m)
	return half, half.Finite()
}

// Rows are rows of a matrix of weights in blocks, as GGUF files store them: each holds the weights of one output.
type Rows struct {
	Type   blocks.Type // F32, BF16, Q8_0 or Q4_0
	Data   []byte      // the blocks, which are read and must not change
	Output []int       // the output of each row
	Owner  any         // optional: is kept as long as the rows, so that Data stays valid
}

// Readable reports whether x is a matrix that Linear, LinearT or Gather reads, and that StorePacked can therefore
// store.
func (x Expr) Readable() bool {
	if !x.g.exists() || x.name == "" || len(x.shape) != 2 {
		return false
	}
	_, multiplied := x.g.multiplied[x.name]
	return multiplied || x.g.lookedUp[x.name]
}

// StorePacked declares how g, on which nothing has been declared, stores a parameter: as the given rows, without
// copying them, instead of numbers. like is the same parameter on another graph, such as an Outline, and must be
// Readable. Its rows are tokens if Gather reads it, its columns outputs if Linear multiplies by it. As with Packed,
// the parameter has no numbers and no gradient. A product with rows of Q8_0 or Q4_0 also rounds x, for each 32 inputs,
// to −127 … 127 times a float32. StorePacked returns an error for rows that do not fit, and for numbers that are not
// finite.
func (g *Graph) StorePacked(like Expr, rows ...Rows) error {
	switch {
	case !g.exists() || g.err != nil:
		return g.orFailed("").Err()
	case !like.Readable():
		return errors.Errorf("weights: got %q, want a matrix that Linear, LinearT or Gather reads", like.name)
	case !g.Kernels || g.ops.Dtype != Float32 || g.ops.Outline:
		return errors.Errorf("weights: %s: stored rows need a float32 graph with kernels", like.name)
	}
	transposed, multiplied := like.g.multiplied[like.name]
	transposed = transposed || !multiplied
	k, n := like.shape[0], like.shape[1]
	if transposed {
		k, n = n, k
	}
	parts := make([]quant.Part, len(rows))
	for i, r := range rows {
		parts[i] = quant.Part{Type: r.Type, Data: r.Data, Output: slices.Clone(r.Output), Owner: r.Owner}
	}
	w, err := quant.New(k, n, parts...)
	if err == nil {
		err = w.Finite(g.ops.Pool)
	}
	if err != nil {
		return errors.Wrapf(err, "weights: %s", like.name)
	}
	g.store.Lock()
	defer g.store.Unlock()
	if g.store.packed == nil {
		g.store.packed = map[string]*packedMatrix{}
	}
	g.store.packed[like.name] = &packedMatrix{Weights: w, transposed: transposed}
	return nil
}

// packed returns the packed matrix of the parameter x, nil if x is not packed.
func (g *Graph) packed(x Expr) *packedMatrix {
	if g == nil || x.name == "" {
		return nil
	}
	return g.store.packed[x.name]
}

// unpacked returns the unpacked numbers of a packed leaf, for operations that cannot read it packed; nil if it is not
// packed.
func (g *Graph) unpacked(leaf string) *tensor.Dense {
	m := g.store.packed[strings.TrimPrefix(leaf, g.ops.Salt)]
	if m == nil {
		return nil
	}
	g.store.Lock()
	defer g.store.Unlock()
	if m.loose == nil {
		shape := m.shape()
		m.loose = newDense(Float32, shape...)
		loose := gemm.Mat(m.loose.Float32s(), shape[1])
		loose.Trans = m.transposed
		m.Unpack(loose)
	}
	return m.loose
}

// WeightBytes returns the memory of the parameters, packed or not.
func (g *Graph) WeightBytes() (sum int) {
	if g.exists() {
		g.store.RLock()
		defer g.store.RUnlock()
	}
	for _, x := range g.Params() {
		if m := g.packed(x); m != nil {
			sum += m.Bytes()
			if m.loose != nil {
				sum += kernel.Bytes(m.loose.Float32s())
			}
		} else {
			sum += kernel.Bytes(x.Tensor().F32) + kernel.Bytes(x.Tensor().F64)
		}
	}
	return sum
}
