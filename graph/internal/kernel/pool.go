// Package kernel holds the arithmetic behind the graph's fast operations: plain slices in, plain slices out, float32
// and float64 from one source. It knows neither graphs nor tensors.
//
// Every sum is taken in an order that depends on the sizes alone, never on the number of threads, so the same numbers
// come out bit for bit on one core and on many.
package kernel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Float is the type of the numbers: every kernel exists for both.
type Float interface{ float32 | float64 }

// idle is how long a worker looks for the next loop before it goes: the gaps between two operations of a training step
// are shorter, the gaps between two programs longer.
const idle = 300 * time.Microsecond

// Pool runs loops on a fixed number of threads. Its workers live while there is work: the caller of a loop begins at
// once, claims chunks like everybody else, and waits only for chunks that somebody has claimed, never for a worker to
// wake up. A pool that is left alone holds no goroutine.
type Pool struct {
	threads int
	loop    atomic.Pointer[loop]
	workers atomic.Int32
}

// NewPool returns a pool of so many threads, the caller's own included; below 1 it takes one per processor.
func NewPool(threads int) *Pool {
	if threads < 1 {
		threads = min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	}
	return &Pool{threads: threads}
}

// Threads is the number of threads that share a loop.
func (p *Pool) Threads() int { return p.threads }

type loop struct {
	body    func(chunk int)
	chunks  int32
	claimed atomic.Int32
	done    atomic.Int32
	failure atomic.Pointer[any]
}

// For calls body(0) … body(chunks−1), each once, on the pool's threads. The chunks must not depend on one another, and
// their number must not depend on the number of threads if sums are split over them. A panic in body comes out here.
func (p *Pool) For(chunks int, body func(chunk int)) {
	if p.threads == 1 || chunks < 2 {
		for i := range chunks {
			body(i)
		}
		return
	}
	l := &loop{body: body, chunks: int32(chunks)}
	p.loop.Store(l)
	for n := p.workers.Load(); int(n) < p.threads-1; n = p.workers.Load() {
		if p.workers.CompareAndSwap(n, n+1) {
			go p.work()
		}
	}
	l.run()
	for spins := 1; l.done.Load() < l.chunks; spins++ {
		if spins%256 == 0 {
			runtime.Gosched()
		}
	}
	p.loop.CompareAndSwap(l, nil)
	if failure := l.failure.Load(); failure != nil {
		panic(*failure)
	}
}

func (p *Pool) work() {
	defer p.workers.Add(-1)
	last := time.Now()
	for spins := 1; ; spins++ {
		if l := p.loop.Load(); l != nil && l.claimed.Load() < l.chunks {
			l.run()
			last, spins = time.Now(), 0
			continue
		}
		if spins%64 == 0 {
			if time.Since(last) > idle {
				return
			}
			runtime.Gosched()
		}
	}
}

func (l *loop) run() {
	for i := l.claimed.Add(1) - 1; i < l.chunks; i = l.claimed.Add(1) - 1 {
		l.chunk(int(i))
	}
}

func (l *loop) chunk(i int) {
	defer l.finish()
	l.body(i)
}

func (l *loop) finish() {
	if r := recover(); r != nil {
		l.fail(r)
	}
	l.done.Add(1)
}

// fail keeps the first panic; apart from finish, so that a chunk that does not panic allocates nothing.
func (l *loop) fail(r any) { l.failure.CompareAndSwap(nil, &r) }

// Range splits 0 … n−1 into chunks of the given size and calls body(from, to) for each.
func (p *Pool) Range(n, size int, body func(from, to int)) {
	p.For((n+size-1)/size, func(i int) { body(i*size, min(n, (i+1)*size)) })
}
