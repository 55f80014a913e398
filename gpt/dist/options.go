package dist

import (
	"time"

	"github.com/pkg/errors"
)

// Options say how the ranks of a job work together; all have the same.
type Options struct {
	// Timeout is how long a rank waits for another one: then the call is an error, ErrTimeout. So a rank that is
	// frozen, or a link that is cut, ends the job and does not hold it for ever. It has to be longer than what one rank
	// does while the others wait, such as to save a checkpoint. 0 is for ever.
	Timeout time.Duration

	// Fast has the engine add up in the order that it takes to be the fastest, which may be another one from one number
	// of ranks to the next: the same sums but for rounding, and no promise of equal bits.
	Fast bool
}

// ErrTimeout is the error of a call in which another rank gave no answer in Options.Timeout.
var ErrTimeout = errors.New("no answer in time")

// check returns an error unless a link can be used so.
func (o Options) check(link Link) error {
	if o.Timeout < 0 {
		return errors.Errorf("dist: timeout: got %v, want at least 0", o.Timeout)
	}
	if _, ok := link.(adder); o.Fast && !ok && link.Size() > 1 {
		return errors.Errorf("dist: fast: %T adds nothing up, want a link of MPI", link)
	}
	return nil
}

// local is a Link that adds in vectors what two ranks have.
type local interface {
	// Plus adds y to x, of one length.
	Plus(x, y []float32) error
}

// adder is a Link with sums of its own.
type adder interface {
	// Add replaces x by its sum over all ranks, in any order.
	Add(x []float32) error
}
