package dist

import (
	"time"

	"github.com/pkg/errors"
)

// Options describes how the ranks of a job work together. All ranks must have the same Options.
type Options struct {
	// Timeout is the longest time that a rank waits for another one before the call returns ErrTimeout. So a frozen
	// rank, or a broken link, ends the job instead of blocking it. Timeout must be longer than any work of one rank
	// for which the others wait, such as saving a checkpoint. 0 means no limit.
	Timeout time.Duration

	// Fast lets the engine add in the order that it considers the fastest, which may depend on the number of ranks:
	// the sums are the same except for rounding, and equal bits are not promised.
	Fast bool
}

// ErrTimeout is the error of a call in which another rank did not answer within Options.Timeout.
var ErrTimeout = errors.New("no answer in time")

// check returns an error unless a link can be used with these options.
func (o Options) check(link Link) error {
	if o.Timeout < 0 {
		return errors.Errorf("dist: timeout: got %v, want at least 0", o.Timeout)
	}
	if _, ok := link.(adder); o.Fast && !ok && link.Size() > 1 {
		return errors.Errorf("dist: fast: %T cannot add, want a link of MPI", link)
	}
	return nil
}

// local is a Link that can add two local slices with vector instructions.
type local interface {
	// Plus adds y to x, which must have the same length.
	Plus(x, y []float32) error
}

// adder is a Link that computes sums itself.
type adder interface {
	// Add replaces x with its sum over all ranks, added in any order.
	Add(x []float32) error
}
