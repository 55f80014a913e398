// Package optim holds the optimizers: what they do with the gradients of a program, and the state that they keep. Start
// with NewAdamW: after every run of the program, Update. Parameters, Moments and Steps are the whole state of a run.
package optim

import "github.com/pedestrian-ml/pedestrian/graph"

// Optimizer changes the parameters that it was made for by the gradients of a program. AdamW and SGD are two; a user's
// own shares Gradients with them.
type Optimizer interface {
	// Accumulate adds the gradients of p's last run to the sum of which the next Update uses the mean.
	Accumulate(p *graph.Program) error

	// Forget drops what was accumulated, of a step that is given up.
	Forget()

	// Update does one step at the learning rate lr with the gradients of p's last run, and those accumulated before:
	// the last micro-batch is not accumulated, so a step of one micro-batch copies nothing. It returns the norm of the
	// mean gradient over all parameters before clipping. If that is not finite, parameters and state stay as they are,
	// what was accumulated is forgotten, and the error, graph.ErrNotFinite, names the first tensor that has such an
	// entry. An update that overflows is the same error, but what it overwrote is lost.
	Update(p *graph.Program, lr float64) (norm float64, err error)

	// Moments calls f with every parameter's name and its state, to save or to restore it. What an optimizer does not
	// have is empty.
	Moments(f func(name string, m, v graph.Tensor))
}
