// Package kernel holds the arithmetic behind the graph's fast operations: plain slices in, plain slices out, float32
// and float64 from one source. It knows neither graphs nor tensors.
//
// Every sum is taken in an order that depends on the sizes alone, never on the number of threads, so the same numbers
// come out bit for bit on one core and on many.
package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

//go:generate go run ./gen

// Float is the type of the numbers: every kernel exists for both.
type Float interface{ float32 | float64 }

// Bytes is the memory of x.
func Bytes[T Float](x []T) int { return len(x) * int(unsafe.Sizeof(*new(T))) }

// idle is how long a worker looks for the next loop before it ends: the gaps between two operations of a training step
// are shorter, the gaps between two programs longer.
const idle = 300 * time.Microsecond

// Pool runs loops on a fixed number of threads. Its workers live while there is work: the caller of a loop begins at
// once, claims chunks like every worker, and waits only for chunks that are claimed, never for a worker to wake up. A pool
// that is left alone holds no goroutine.
type Pool struct {
	threads int
	loop    atomic.Pointer[loop]
	workers atomic.Int32
	worker  func() // work, as a value that starting a goroutine need not allocate

	loops   shelf[loop] // what loops need, for the next one: running them allocates nothing
	shelves sync.Map    // of tasks, by their type
}

// NewPool returns a pool with the given number of threads, the caller's included; below 1 it takes one per processor.
func NewPool(threads int) *Pool {
	if threads < 1 {
		threads = min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	}
	p := &Pool{threads: threads}
	p.worker = p.work
	return p
}

// Threads is the number of threads that share a loop.
func (p *Pool) Threads() int { return p.threads }

// For calls body(0) … body(chunks−1), each once, on the pool's threads. The chunks must not depend on one another, and
// their number must not depend on the number of threads if sums are split over them. A panic in body comes out here.
func (p *Pool) For(chunks int, body func(chunk int)) { p.Run(chunks, 1, eachChunk(body)) }

// Range splits 0 … n−1 into chunks of the given size and calls body(from, to) for each.
func (p *Pool) Range(n, size int, body func(from, to int)) { p.Run(n, size, eachRange(body)) }

// Rows is Range over n rows of d entries, in chunks of about as many entries as those of an elementwise loop.
func (p *Pool) Rows(n, d int, body func(from, to int)) { p.Range(n, rowGrain(d), body) }

// Job is the body of a loop. As a closure it is allocated for every loop; as a pointer to arguments it need not be.
type Job interface{ Do(from, to int) }

type (
	eachChunk func(chunk int)
	eachRange func(from, to int)
)

func (f eachChunk) Do(from, _ int)  { f(from) }
func (f eachRange) Do(from, to int) { f(from, to) }

// loop is a job for 0 … n−1. It is used again for another job as soon as it is done, even if a slow worker still holds
// it: a worker that has claimed a chunk may look at the rest, and as long as there is one the loop is not done.
type loop struct {
	left    atomic.Int64 // chunks to claim, or less than 0; set last
	done    atomic.Int64
	job     Job
	n, size int
	chunks  int
	failure atomic.Pointer[any]
}

// Run calls j.Do for the chunks of 0 … n−1, of the given size each.
func (p *Pool) Run(n, size int, j Job) {
	chunks := (n + size - 1) / size
	if p.threads == 1 || chunks < 2 {
		for i := range chunks {
			j.Do(i*size, min(n, (i+1)*size))
		}
		return
	}
	l := p.loops.take()
	l.job, l.n, l.size, l.chunks = j, n, size, chunks
	l.done.Store(0)
	l.left.Store(int64(chunks))
	p.loop.Store(l)
	for n := p.workers.Load(); int(n) < p.threads-1; n = p.workers.Load() {
		if p.workers.CompareAndSwap(n, n+1) {
			go p.worker()
		}
	}
	l.run()
	for spins := 1; l.done.Load() < int64(chunks); spins++ {
		if spins%256 == 0 {
			runtime.Gosched()
		}
	}
	p.loop.CompareAndSwap(l, nil)
	failure := l.failure.Swap(nil)
	l.job = nil
	p.loops.give(l)
	if failure != nil {
		panic(*failure)
	}
}

func (p *Pool) work() {
	defer p.workers.Add(-1)
	last := time.Now()
	for spins := 1; ; spins++ {
		if l := p.loop.Load(); l != nil && l.left.Load() > 0 {
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
	for left := l.left.Add(-1); left >= 0; left = l.left.Add(-1) {
		l.chunk(l.chunks - 1 - int(left))
	}
}

func (l *loop) chunk(i int) {
	defer l.finish()
	l.job.Do(i*l.size, min(l.n, (i+1)*l.size))
}

func (l *loop) finish() {
	if r := recover(); r != nil {
		l.fail(r)
	}
	l.done.Add(1)
}

// fail keeps the first panic. It is not part of finish, so that a chunk that does not panic allocates nothing.
func (l *loop) fail(r any) { l.failure.CompareAndSwap(nil, &r) }
