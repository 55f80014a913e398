package graph

import (
	"runtime"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// Weights is a matrix w (k, n) of k inputs and n outputs in a format of another package, such as graph/stored. Products
// read it as it is stored: MulAdd writes x·w + bias for m rows of x to y, with an optional bias. Column writes the
// weights of output j, and Unpack all of them. Bytes returns its memory.
type Weights interface{ ops.Weights }

// Packing is a format of weights that a model multiplies by but does not train. Package graph/stored has the formats.
type Packing interface {
	// Validate returns an error if there is no such format.
	Validate() error
	// Saves reports whether a matrix (k, n) needs less memory in the format than in float32.
	Saves(k, n int) bool
	// Pack returns w (k, n), or (n, k) if it is stored transposed, in the format. It computes on the threads of g. It
	// returns an error for a number that the format cannot hold.
	Pack(g *Graph, w Tensor, transposed bool) (Weights, error)
	// String returns the name of the format.
	String() string
}

// Packed returns an empty Graph like a Sibling, but with a copy of the current parameters. It packs the matrices that
// fused.Linear and fused.LinearT of g multiply by, if that saves memory. A packed parameter declared on the new Graph
// has a shape and no numbers. These and fused.Gather read it packed; for other operations it is unpacked. Sums are
// in float32. A product with a packed matrix has no gradient. Packed returns an error for a graph without kernels or of
// another type than Float32, and for numbers that are not finite.
func (g *Graph) Packed(p Packing) (*Graph, error) {
	if p == nil {
		return nil, errors.New("weights: got no packing, want a format such as stored.BF16")
	}
	if err := p.Validate(); err != nil {
		return nil, errors.WithMessage(err, "weights")
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
		if k, n := inputs(x.shape, transposed); multiplied && p.Saves(k, n) {
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

// inputs returns the numbers of inputs and outputs of a matrix that is stored in a shape; of other shapes, 0.
func inputs(shape []int, transposed bool) (k, n int) {
	switch {
	case len(shape) != 2:
		return 0, 0
	case transposed:
		return shape[1], shape[0]
	}
	return shape[0], shape[1]
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
		w, err := p.Pack(g, t.Tensor, t.transposed)
		if err != nil {
			return errors.Wrapf(err, "weights: %s", t.name)
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

// Readable reports whether x is a matrix that fused.Linear, LinearT or Gather reads, and that StorePacked can therefore
// store.
func (x Expr) Readable() bool {
	if !x.g.exists() || x.name == "" || len(x.shape) != 2 {
		return false
	}
	_, multiplied := x.g.multiplied[x.name]
	return multiplied || x.g.lookedUp[x.name]
}

// StorePacked declares how g, on which nothing has been declared, stores a parameter: as the weights that read returns
// for its k inputs and n outputs, instead of numbers. like is the same parameter on another graph, such as an Outline,
// and must be Readable. Its rows are outputs if Gather or LinearT reads it, its columns if Linear multiplies by it. As
// with Packed, the parameter has no numbers and no gradient. Packages of formats call it, as stored.Store does.
func (g *Graph) StorePacked(like Expr, read func(k, n int) (Weights, error)) error {
	switch {
	case !g.exists() || g.err != nil:
		return g.orFailed("").Err()
	case !like.Readable():
		return errors.Errorf("weights: got %q, want a matrix that Linear, LinearT or Gather reads", like.name)
	case !g.Kernels || g.ops.Dtype != Float32 || g.ops.Outline:
		return errors.Errorf("weights: %s: stored rows need a float32 graph with kernels", like.name)
	case read == nil:
		return errors.Errorf("weights: %s: got no function that returns them", like.name)
	}
	transposed, multiplied := like.g.multiplied[like.name]
	transposed = transposed || !multiplied
	k, n := inputs(like.shape, transposed)
	w, err := read(k, n)
	if err != nil {
		return errors.Wrapf(err, "weights: %s", like.name)
	}
	if w == nil {
		return errors.Errorf("weights: %s: got none, want (%d, %d)", like.name, k, n)
	}
	if in, out := w.Size(); in != k || out != n {
		return errors.Errorf("weights: %s: got (%d, %d), want (%d, %d)", like.name, in, out, k, n)
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
