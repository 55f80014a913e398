package graph

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Precisions returns the names that SetPrecision takes, the default first.
func Precisions() []string { return []string{"float32", "bf16"} }

// SetPrecision fixes in which precision kernels built from here on multiply, in a graph of Float32. With "bf16" the
// operands of the products of Linear, LinearT and of attention by softmax, forward and backward, are rounded to
// bfloat16, numbers of 8 significant bits, while they are packed; what they are computed from and all sums stay
// float32, and so does all that is no such product. Stock operations and graphs of Float64 know nothing of it, nor do
// Siblings: it is for training. An unknown name is an error of the graph.
func (g *Graph) SetPrecision(name string) {
	switch {
	case g == nil:
	case !slices.Contains(Precisions(), name):
		g.fail("", "precision: got %q, want one of %s", name, strings.Join(Precisions(), ", "))
	default:
		g.rounds = name == "bf16" && g.dtype == Float32
	}
}

// Precision says in which precision kernels multiply, and how this processor does it where it rounds: "bfloat16 by
// VDPBF16PS" or "bfloat16 by rounding", which means copies that are multiplied in float32. Both compute the same bits
// unless a sum on the way is below 2⁻¹²⁶; without vector instructions the bits are others.
func (g *Graph) Precision() string {
	switch {
	case g == nil || g.dtype != Float32:
		return "float64"
	case g.rounds && g.Kernels:
		return gemm.Rounded{}.String()
	}
	return "float32"
}

// productsOf returns the products of the graph's precision.
func productsOf[T kernel.Float](g *Graph) gemm.Products[T] {
	if rounded, ok := any(gemm.Rounded{}).(gemm.Products[T]); ok && g.rounds {
		return rounded
	}
	return gemm.Exact[T]{}
}
