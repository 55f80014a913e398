package verify

import (
	"context"
	"sync"
)

// work is how a check goes about it: until when, on how many threads, and who hears how far it is.
type work struct {
	ctx      context.Context
	threads  int
	progress func(done, total int) // or nil
}

// unwatched returns the work at a layer, which is small, and whose formulas may be anybody's: one thing after another.
func unwatched() work { return work{ctx: context.Background(), threads: 1} }

// alone is w for what cannot share its numbers.
func (w work) alone() work {
	w.threads = 1
	return w
}

// ended is why the context has ended, if it has.
func (w work) ended() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return nil
}

// each calls do(0) … do(n−1), on all threads, until one fails or the context ends.
func (w work) each(n int, do func(i int) error) error {
	var (
		lock       sync.Mutex
		threads    sync.WaitGroup
		next, done int
		failed     error
	)
	claim := func() (i int, ok bool) {
		lock.Lock()
		defer lock.Unlock()
		if failed == nil {
			failed = w.ended()
		}
		i, ok = next, failed == nil && next < n
		next++
		return i, ok
	}
	finish := func(err error) {
		lock.Lock()
		defer lock.Unlock()
		if done++; err != nil && failed == nil {
			failed = err
		}
		if w.progress != nil && failed == nil {
			w.progress(done, n)
		}
	}
	run := func() {
		for i, ok := claim(); ok; i, ok = claim() {
			finish(guarded(func() error { return do(i) }))
		}
	}
	for range min(w.threads, n) - 1 {
		threads.Go(run)
	}
	run()
	threads.Wait()
	return failed
}
