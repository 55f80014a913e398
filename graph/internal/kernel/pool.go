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
	worker  func() // work, as a value that starting a goroutine need not allocate

	loops     spare[loop] // what loops need, for the next one: running them allocates nothing
	gemm32    spare[multiplying[float32]]
	gemm64    spare[multiplying[float64]]
	attend32  spare[attending[float32]]
	attend64  spare[attending[float64]]
	entries32 spare[entries[float32]]
	entries64 spare[entries[float64]]
	norm32    spare[normalising[float32]]
	norm64    spare[normalising[float64]]
}

// NewPool returns a pool of so many threads, the caller's own included; below 1 it takes one per processor.
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
func (p *Pool) For(chunks int, body func(chunk int)) { p.run(chunks, 1, eachChunk(body)) }

// Range splits 0 … n−1 into chunks of the given size and calls body(from, to) for each.
func (p *Pool) Range(n, size int, body func(from, to int)) { p.run(n, size, eachRange(body)) }

// A job is the body of a loop. As a closure it is allocated for every loop; as a pointer to arguments it need not be.
type job interface{ do(from, to int) }

type (
	eachChunk func(chunk int)
	eachRange func(from, to int)
)

func (f eachChunk) do(from, _ int)  { f(from) }
func (f eachRange) do(from, to int) { f(from, to) }

// loop is a job for 0 … n−1. It is used again for another job as soon as it is done, even if a slow worker still holds
// it: whoever has claimed a chunk may look at the rest, and as long as there is one the loop is not done.
type loop struct {
	left    atomic.Int64 // chunks to claim, or less than 0; set last
	done    atomic.Int64
	job     job
	n, size int
	chunks  int
	failure atomic.Pointer[any]
}

// run calls j.do for the chunks of 0 … n−1, of the given size each.
func (p *Pool) run(n, size int, j job) {
	chunks := (n + size - 1) / size
	if p.threads == 1 || chunks < 2 {
		for i := range chunks {
			j.do(i*size, min(n, (i+1)*size))
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
	l.job.do(i*l.size, min(l.n, (i+1)*l.size))
}

func (l *loop) finish() {
	if r := recover(); r != nil {
		l.fail(r)
	}
	l.done.Add(1)
}

// fail keeps the first panic; apart from finish, so that a chunk that does not panic allocates nothing.
func (l *loop) fail(r any) { l.failure.CompareAndSwap(nil, &r) }

// spare keeps an object for its next use. Who finds none, because somebody else is using it, makes one.
type spare[X any] struct{ x atomic.Pointer[X] }

func (s *spare[X]) take() *X {
	if x := s.x.Swap(nil); x != nil {
		return x
	}
	return new(X)
}

func (s *spare[X]) give(x *X) { s.x.Store(x) }

// spareOf is the one of two for numbers of type T.
func spareOf[X any](f32, f64 any) *spare[X] {
	if s, ok := f32.(*spare[X]); ok {
		return s
	}
	return f64.(*spare[X])
}
