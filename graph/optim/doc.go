// Package optim provides the optimizers: how they use the gradients of a program, and the state they keep. Start with
// NewAdamW, and call Update after every run of the program. Parameters, Moments and Steps are the complete state of a
// training run.
package optim

import "github.com/pedestrian-ml/pedestrian/graph"

// Optimizer updates its parameters by the gradients of a program. AdamW and SGD implement it. A user-defined optimizer
// can embed Gradients, as they do.
type Optimizer interface {
	// Accumulate adds the gradients of p's last run to the sum whose mean the next Update uses.
	Accumulate(p *graph.Program) error

	// Forget discards the accumulated gradients, for a step that is given up.
	Forget()

	// Update does one step at the learning rate lr with the mean of the gradients of p's last run and the accumulated
	// ones. The last micro-batch is not accumulated, so a step of one micro-batch copies nothing. Update returns the
	// norm of the mean gradient over all parameters before clipping. If that is not finite, parameters and state do not
	// change, the accumulated gradients are discarded, and the error, graph.ErrNotFinite, names the first tensor with
	// such an entry. An update that overflows returns the same error, but the overwritten numbers are lost.
	Update(p *graph.Program, lr float64) (norm float64, err error)

	// Moments calls f with every parameter's name and its state, for saving or restoring it. Tensors that an optimizer
	// does not use are empty.
	Moments(f func(name string, m, v graph.Tensor))
}
