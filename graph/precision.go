package graph

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Precisions returns the names that SetPrecision accepts, the default first.
func Precisions() []string { return []string{"float32", "bf16"} }

// SetPrecision sets the precision in which kernels built from here on multiply, in a graph of Float32. With "bf16" the
// operands of the products of Linear, LinearT and softmax attention, forward and backward, are rounded to bfloat16,
// numbers of 8 significant bits, while they are packed. The stored operands, all sums and all other operations stay in
// float32. Stock operations, graphs of Float64 and Siblings ignore the setting: it is for training. An unknown name is
// an error of the graph.
func (g *Graph) SetPrecision(name string) {
	switch {
	case g == nil:
	case !slices.Contains(Precisions(), name):
		g.fail("", "precision: got %q, want one of %s", name, strings.Join(Precisions(), ", "))
	default:
		g.rounds = name == "bf16" && g.dtype == Float32
	}
}

// Precision returns the precision in which kernels multiply and, if they round, the method on this processor: "bfloat16
// by VDPBF16PS" or "bfloat16 by rounding", which multiplies rounded copies in float32. Both compute the same bits
// unless a partial sum is below 2⁻¹²⁶; without vector instructions the bits differ.
func (g *Graph) Precision() string {
	switch {
	case g == nil || g.dtype != Float32:
		return "float64"
	case g.rounds && g.Kernels:
		return gemm.Rounded{}.String()
	}
	return "float32"
}

// productsOf returns the products in the graph's precision.
func productsOf[T kernel.Float](g *Graph) gemm.Products[T] {
	if rounded, ok := any(gemm.Rounded{}).(gemm.Products[T]); ok && g.rounds {
		return rounded
	}
	return gemm.Exact[T]{}
}
