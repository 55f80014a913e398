package verify

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Case checks one layer, at sizes that are all different (Dims) and with random parameters. It differentiates Σ y∘Δ by
// the input and by every parameter, where y is the result of the layer and Δ is random. If y is a single number, it
// differentiates y itself.
//
// With Forward and Backward, the layer is compared with these formulas by hand: by autodiff, by the kernels, and by the
// complex step of Forward. Without them, autodiff is compared with central differences of the reference graph, and the
// kernels with autodiff. The Report states which.
type Case struct {
	ID     string // the entry that it certifies
	Name   string
	Types  []string // the types of nn that it exercises
	Parts  []string // the parts of a gpt.Config that it certifies, such as norm=layernorm
	Source string   // paper and equations

	// Build declares the layer at a site and applies it to x (B·T, d). The result must depend on the input.
	Build func(at nn.Site, x graph.Expr) graph.Expr

	// Layer, given instead of Build, creates the layer whose Forward is applied to x, at a site that has positions. If
	// the layer is nn.Cached, its Step is compared with Forward, under a causal mask unless the layer has its own.
	Layer func(at nn.Site) nn.Layer

	// Forward is the layer by hand, and Backward returns its gradients by parameter name; "x" is the input. Set both or
	// neither.
	Forward  func(p hand.Parameters[complex128]) hand.Matrix[complex128]
	Backward func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64]

	// Bidirectional permits a token to see later tokens of its text, as in an encoder. Otherwise a layer that looks
	// ahead fails. A layer in which one text of the batch influences another always fails.
	Bidirectional bool

	Frozen []string // parameters without a gradient

	// Carry compares the layer on a window in the middle of a text: the states that it hands on from the window before
	// are random constants. Forward and Backward read them as parameters, by their names.
	Carry bool

	// Dims are the sizes at the site. A size of 0 stands for the size in DefaultDims. A layer that needs another size,
	// such as heads in two groups, sets it here.
	Dims nn.Dims
}

// Entry is a layer, an algorithm or a claim of the papers. Its Cases certify it, or the named tests if it has no
// gradient or spans more than one layer.
type Entry struct {
	ID     string
	What   string
	Source string // paper and equations
	Tests  []string
	Cases  []Case
}

// String returns the entry in one line.
func (e Entry) String() string { return fmt.Sprintf("%s %s: %s", e.ID, e.What, e.Source) }
