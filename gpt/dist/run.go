package dist

import (
	"context"
	"slices"
	"sync"

	"github.com/pkg/errors"
)

// Run calls f as each of n ranks, in goroutines of this process, to try or test a job of several machines on one. It
// returns after all have returned. Its error is the first error or panic, with its rank; the calls of all other ranks
// then fail with it, as they do when ctx ends.
func Run(ctx context.Context, n int, f func(Group) error) error {
	switch {
	case ctx == nil:
		return errors.New("dist: no context (nil)")
	case f == nil:
		return errors.New("dist: nothing to run (nil)")
	}
	if err := CheckSize(n); err != nil {
		return err
	}
	if n > maxLocal {
		return errors.Errorf("dist: got %d ranks in one process, want at most %d", n, maxLocal)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	w := newWires(ctx, n)
	var wait sync.WaitGroup
	failed := make([]bool, n)
	for rank := range n {
		wait.Go(func() {
			g := &group{Link: &wire{w, rank}, plus: inTurn}
			defer g.Close()
			if err := guarded(func() error { return f(g) }); err != nil {
				failed[rank] = true
				fail(errors.Wrapf(err, "rank %d", rank))
			}
		})
	}
	wait.Wait()
	if slices.Contains(failed, true) {
		return context.Cause(ctx)
	}
	return nil
}

// maxLocal is the largest number of ranks in one process.
const maxLocal = 1024

// guarded calls f. A panic in f becomes an error.
func guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("panic: %v", r)
		}
	}()
	return f()
}
