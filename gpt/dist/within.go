package dist

import (
	"time"

	"github.com/pkg/errors"
)

// within is a Link whose calls have a time limit. A call of MPI cannot be cancelled, so each runs in a separate
// goroutine. A call that has timed out keeps that goroutine, and may still write to its slices.
type within struct {
	Link
	limit time.Duration
	calls chan func() error
	done  chan error
	late  error
}

func newWithin(link Link, limit time.Duration) *within {
	w := &within{Link: link, limit: limit, calls: make(chan func() error), done: make(chan error, 1)}
	go func() {
		for call := range w.calls {
			w.done <- call()
		}
	}()
	return w
}

func (w *within) Exchange(peer int, send, receive []float32) error {
	err := w.do(func() error { return w.Link.Exchange(peer, send, receive) })
	return errors.WithMessagef(err, "with rank %d", peer)
}

func (w *within) Add(x []float32) error { return w.do(func() error { return w.Link.(adder).Add(x) }) }

// do returns the error of a call, or ErrTimeout. After a timeout no further calls are made.
func (w *within) do(call func() error) error {
	if w.late != nil {
		return w.late
	}
	w.calls <- call
	select {
	case err := <-w.done:
		return err
	case <-time.After(w.limit):
		w.end(errors.Wrapf(ErrTimeout, "waited %v", w.limit))
		return w.late
	}
}

// Close has no time limit: a rank that is done may wait for one that still writes.
func (w *within) Close() error {
	w.end(errors.New("closed"))
	return w.Link.Close()
}

// end ends the goroutine after its present call, and makes all later calls return why.
func (w *within) end(why error) {
	if w.late == nil {
		w.late = why
		close(w.calls)
	}
}
