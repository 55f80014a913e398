package verify

import (
	"context"
	"sync"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
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

// guarded calls f, which may call a user-defined function such as Build, and returns its panic as an error.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("verify: a panic: %v", p)
		}
	}()
	return f()
}

// remembered returns draw with its results stored by path, so that each derivative uses the same masks on any thread.
func remembered(draw func(path string) hand.Matrix[float64]) func(path string) hand.Matrix[float64] {
	var lock sync.Mutex
	drawn := map[string]hand.Matrix[float64]{}
	return func(path string) hand.Matrix[float64] {
		lock.Lock()
		defer lock.Unlock()
		mask, ok := drawn[path]
		if !ok {
			mask = draw(path)
			drawn[path] = mask
		}
		return mask
	}
}
