package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// FeatureMap is a map φ of queries and keys, d numbers each: in linear attention their products φ(q)·φ(k) are the
// weights.
type FeatureMap[T kernel.Float] interface {
	// Size returns the length of φ.
	Size(d int) int
	// of computes the rows φ, which are Size(d) wide and contiguous, from the rows of x.
	of(phi []T, x gemm.Matrix[T], d int)
	// back computes the rows of dx from dφ and from φ as computed by of.
	back(dx gemm.Matrix[T], dphi, phi []T, x gemm.Matrix[T], d int)
}

// EluPlusOne is φ(x) = x + 1 for x > 0, else eˣ.
type EluPlusOne[T kernel.Float] struct{}

// Size returns d.
func (EluPlusOne[T]) Size(d int) int { return d }

// of has no branches, because the signs of features cannot be predicted.
func (EluPlusOne[T]) of(phi []T, x gemm.Matrix[T], d int) {
	for i := range len(phi) / d {
		copy(phi[i*d:][:d], x.Data[i*x.Stride:])
	}
	if fast := simd.Of[T](); fast != nil {
		fast.Exp(simd.Float32s(phi), simd.Float32s(phi), 0, 1)
	} else {
		for i, v := range phi {
			phi[i] = kernel.Exp(v)
		}
	}
	for ; len(phi) > 0; phi, x = phi[d:], x.From(1, 0) {
		out := phi[:d]
		for j, v := range x.Data[:d] {
			out[j] = min(out[j], 1) + max(v, 0)
		}
	}
}

// back uses that the slope is 1 for x > 0, where φ > 1, else φ.
func (EluPlusOne[T]) back(dx gemm.Matrix[T], dphi, phi []T, _ gemm.Matrix[T], d int) {
	for ; len(phi) > 0; phi, dphi, dx = phi[d:], dphi[d:], dx.From(1, 0) {
		row, slopes, deltas := dx.Data[:d], phi[:d], dphi[:d]
		for j, v := range slopes {
			row[j] = deltas[j] * min(v, 1)
		}
	}
}

// Taylor is φ(x) = [1, x̂] with x̂ = x/√(‖x‖² + Eps), so that φ(q)·φ(k) = 1 + q̂·k̂.
type Taylor[T kernel.Float] struct{ Eps float64 }

// Size returns d + 1.
func (Taylor[T]) Size(d int) int { return d + 1 }

func (t Taylor[T]) of(phi []T, x gemm.Matrix[T], d int) {
	for ; len(phi) > 0; phi, x = phi[d+1:], x.From(1, 0) {
		row := x.Data[:d]
		share := t.share(row)
		phi[0] = 1
		for j, v := range row {
			phi[j+1] = v * share
		}
	}
}

// back computes dx = (dx̂ − x̂(x̂·dx̂))/√(‖x‖² + Eps).
func (t Taylor[T]) back(dx gemm.Matrix[T], dphi, phi []T, x gemm.Matrix[T], d int) {
	for ; len(phi) > 0; phi, dphi, dx, x = phi[d+1:], dphi[d+1:], dx.From(1, 0), x.From(1, 0) {
		row, hat, delta := dx.Data[:d], phi[1:d+1], dphi[1:d+1]
		share, along := t.share(x.Data[:d]), dot(hat, delta)
		for j, v := range hat {
			row[j] = (delta[j] - T(v*along)) * share
		}
	}
}

func (t Taylor[T]) share(x []T) T { return T(1 / math.Sqrt(float64(dot(x, x))+t.Eps)) }
