package train

import (
	"context"
	"iter"

	"github.com/pkg/errors"
)

// Steps yields the Progress of each step of c until the given number is done. step is Core.Step, or a function that
// wraps it. Steps ends with an error when ctx ends or a step fails. If the caller breaks out of the loop, the yielded
// step is done, and the run can be continued.
func (c *Core) Steps(ctx context.Context, until int, step func() (Progress, error)) iter.Seq2[Progress, error] {
	return func(yield func(Progress, error) bool) {
		if c == nil || ctx == nil || step == nil {
			yield(Progress{}, errors.New("trainer: got nil, want a trainer and a context such as context.Background()"))
			return
		}
		for c.Done < until {
			if ctx.Err() != nil {
				yield(Progress{}, errors.Wrapf(context.Cause(ctx), "before step %d", c.Done+1))
				return
			}
			before := c.Done
			p, err := step()
			if err == nil && c.Done == before {
				err = errors.Errorf("trainer: the step has done nothing: %d are done", before)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}
