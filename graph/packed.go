package graph

import (
	"runtime"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// Packing is how the numbers of matrices are kept that are multiplied by and not trained.
type Packing string

// The packings.
const (
	BF16 Packing = "bf16" // the upper half of a float32, rounded to the nearest: within 2⁻⁸ of the number
	Int8 Packing = "int8" // −127 … 127 times a float32 of its output: within 1/254 of the largest weight of that output
)

// Validate returns an error that lists the packings if p is none.
func (p Packing) Validate() error {
	if p != BF16 && p != Int8 {
		return errors.Errorf("weights: got %q, want %s or %s", string(p), BF16, Int8)
	}
	return nil
}

// packedMatrix is a parameter in fewer bits: (in, out), or stored as (out, in), transposed.
type packedMatrix struct {
	*gemm.Packed
	transposed bool
	loose      *tensor.Dense // its numbers in float32, once somebody needs them
}

// Packed returns an empty Graph like a Sibling, with a copy of the parameters as they are now: packed are the matrices
// that Linear and LinearT of g multiply by, where that takes less memory. What is declared there under the name of one
// has a shape and no numbers; Linear, LinearT and Gather read it packed, and what else reads it gets it unpacked. Sums
// are of float32. Nothing is differentiated by a product with such a matrix. It is an error for a graph without kernels
// or of another type than Float32, and for numbers that are not finite.
func (g *Graph) Packed(p Packing) (*Graph, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	switch {
	case !g.exists():
		return nil, g.made("").Err()
	case !g.Kernels || g.dtype != Float32:
		return nil, errors.Errorf("weights: %s is for models of float32 with kernels, this one has kernels %t and computes in %v",
			p, g.Kernels, g.dtype)
	case len(g.store.packed) > 0:
		return nil, errors.Errorf("weights: %s of a graph whose weights are packed already", p)
	}
	lock := g.store.RWMutex // and not the store: its matrices may be collected one by one
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

// loose is a matrix that is to be packed; it holds on to no graph.
type loose struct {
	name string
	Tensor
	transposed bool
}

// saves reports whether a matrix takes less memory packed, whichever way it lies.
func saves(p Packing, shape []int) bool {
	return gemm.PackedBytes(shape[0], shape[1], p == Int8) < 4*shape[0]*shape[1] &&
		gemm.PackedBytes(shape[1], shape[0], p == Int8) < 4*shape[0]*shape[1]
}

// pack keeps the matrices in g's store. A caller who drops the graph that they are of need not hold them twice, hence
// the collections.
func (g *Graph) pack(p Packing, matrices []loose) error {
	const often = 1 << 26 // bytes that may be garbage
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
		w := by(g.pool, k, n, m)
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

// packed returns the matrix that x stands for, nil if x is none that is packed.
func (g *Graph) packed(x Expr) *packedMatrix {
	if g == nil || x.name == "" {
		return nil
	}
	return g.store.packed[x.name]
}

// packed declares a parameter that is packed.
func (s Scope) packed(full string, shape []int) Expr {
	m := s.g.store.packed[full]
	if want := m.shape(); !slices.Equal(shape, want) {
		s.g.fail(full, "shape %v, but the shared parameter has %v", shape, want)
	}
	if s.g.err != nil || !s.g.hold(full, []int{m.Bytes()}, 1) {
		return Expr{g: s.g, scope: s.path}
	}
	return s.g.addLeaf(s.leaf(full, nil, s.g.dtype, shape, shape))
}

// shape is that of the parameter.
func (m *packedMatrix) shape() []int {
	if m.transposed {
		return []int{m.N, m.K}
	}
	return []int{m.K, m.N}
}

// unpacked returns the numbers of a leaf that is packed, for what cannot read it so.
func (g *Graph) unpacked(leaf string) *tensor.Dense {
	m := g.store.packed[strings.TrimPrefix(leaf, g.salt)]
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

// WeightBytes returns the memory of the parameters, in whatever way they are kept.
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
