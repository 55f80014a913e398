package graph

import (
	"runtime"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// Packing is the format of weights that are multiplied by and not trained.
type Packing string

// The packings.
const (
	BF16 Packing = "bf16" // the upper half of a float32, rounded to the nearest: within 2⁻⁸ of the number
	Int8 Packing = "int8" // −127 … 127 times a float32 of its output: within 1/254 of the largest weight of that output
)

// Validate returns an error that lists the packings if p is not one of them.
func (p Packing) Validate() error {
	if p != BF16 && p != Int8 {
		return errors.Errorf("weights: got %q, want %s or %s", string(p), BF16, Int8)
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
		if _, multiplied := g.multiplied[x.name]; multiplied && len(x.shape) == 2 && saves(p, x.shape) {
			matrices = append(matrices, loose{x.name, x.Tensor(), g.multiplied[x.name]})
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
func saves(p Packing, shape []int) bool {
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
		by := gemm.PackBF16
		if p == Int8 {
			by = gemm.PackInt8
		}
		w := by(g.ops.Pool, k, n, m)
		if !w.Finite() {
			return errors.Errorf("weights: %s: a number too large for %s", t.name, p)
		}
		g.store.packed[t.name] = &packedMatrix{Packed: w, transposed: t.transposed}
		garbage += 4 * t.Len()
		if matrices[i], t = (loose{}), (loose{}); garbage > often {
			garbage = 0
			runtime.GC()
		}
	}
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
