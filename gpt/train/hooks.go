package train

import (
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// Hooks holds the user-defined functions of a run. They are in no file: to resume a run, the caller must pass the same
// ones again, which cannot be checked. An optimizer is not a hook but a part, because it has a name. If a hook is nil,
// the library's behaviour applies.
type Hooks struct {
	// Rate returns the learning rate of a step, counted from 0, in place of the Training's schedule.
	Rate func(step int) float64

	// Loss returns the scalar to minimise, from logits (n, V) and the ids of the targets (n), in place of their mean
	// cross entropy. A target of text.Ignore must not count. Evaluations use this loss, too. Without a Fill, a
	// loss that does not depend on the targets is an error.
	Loss func(logits, targets graph.Expr) graph.Expr

	// Fill fills the tokens x and targets y (n each) of a micro-batch to train on, in place of blocks drawn from the
	// corpus, and the inputs that Loss has declared. The step and the micro-batch count from 0. They alone must decide
	// what Fill does, so that a run that is resumed or divided among machines sees the same batches.
	Fill func(step, micro int, x, y []int) error

	// Gradients gets the gradient of every trained parameter, the mean over the micro-batches, before clipping, and
	// may write to it. The step is counted from 0. If Gradients returns an error, Step returns it and is not done.
	Gradients func(step int, grads []Named) error

	// Source, which is optional, is the source of these functions, for example by go:embed. Certificates hold its
	// SHA-256; without it they say that the functions are not covered.
	Source string

	// Group is the group of machines that train together, or nil for a single one; it becomes Core.Group. If the
	// moments are divided among the machines, each reads only its part when a run is resumed.
	Group dist.Group
}

// Optimizer is a function that returns the rule of an optimizer with the settings of a Training, such as Beta1. Decay,
// clipping and accumulation are the same for all rules.
type Optimizer func(t Training) optim.Rule

// kept returns the number of values that the rule keeps for every number of a parameter: its moments, and its share of
// the further tensors. It is 2, as for AdamW, if o cannot build the rule: New returns the reason.
func (o Optimizer) kept(t Training, p graph.Expr) (n float64) {
	defer func() {
		if recover() != nil {
			n = 2
		}
	}()
	rule := o(t)
	if rule == nil {
		return 2
	}
	shape := p.Tensor().Shape
	s, _ := optim.StateOf(rule, p.Name(), shape)
	list, _ := s.Kept(shape, p.PackedColumns())
	for _, k := range list[min(len(list), s.Moments):] {
		n += entries(k.Shape)
	}
	return float64(s.Moments) + n/entries(shape)
}

// Products returns the number of operations of the rule's matrix products in a step for a parameter of this shape,
// which packs the given columns. It is 0 if o cannot build the rule: New returns the reason.
func (o Optimizer) Products(t Training, name string, shape, columns []int) (n float64) {
	defer func() { _ = recover() }()
	if s, err := optim.StateOf(o(t), name, shape); err == nil && s.Products != nil {
		n = s.Products(shape, columns)
	}
	return n
}

// entries returns the number of entries of a tensor.
func entries(shape []int) float64 {
	n := 1.0
	for _, size := range shape {
		n *= float64(size)
	}
	return n
}

// averaging reports whether the optimizer's rule is an optim.Averaging. It is not if o panics.
func (o Optimizer) averaging(t Training) (ok bool) {
	defer func() { _ = recover() }()
	_, ok = o(t).(optim.Averaging)
	return ok
}

// guarded calls f. A panic in f becomes an error that names the hook.
func guarded(hook string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.WithMessage(graph.Panicked(r), hook)
		}
	}()
	return errors.Wrap(f(), hook)
}
