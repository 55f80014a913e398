package verify

import (
	"context"
	"sync"
)

// work holds the context, the number of threads and the progress function of a check.
type work struct {
	ctx      context.Context
	threads  int
	progress func(done, total int) // or nil
}

// unwatched returns the work of checking a layer: on one thread, because a layer is small and user-defined formulas may
// not be safe for concurrent use.
func unwatched() work { return work{ctx: context.Background(), threads: 1} }

// alone returns w with one thread, for computations that share numbers.
func (w work) alone() work {
	w.threads = 1
	return w
}

// ended returns the cause of the context's end, or nil if it has not ended.
func (w work) ended() error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return nil
}

// each calls do(0) … do(n−1) on all threads until one fails or the context ends.
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
