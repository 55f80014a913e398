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

// Bytes returns the memory of x.
func Bytes[T Float](x []T) int { return len(x) * int(unsafe.Sizeof(*new(T))) }

// idle is how long a worker looks for the next loop before it ends: the gaps between two operations of a training step
// are shorter, the gaps between two programs longer.
const idle = 300 * time.Microsecond

// Pool runs loops on a fixed number of threads. Its workers live while there is work: the caller of a loop begins at
// once, claims chunks like every worker, and waits only for chunks that are claimed, never for a worker to wake up. A
// pool that is left alone holds no goroutine.
//
// Threads have numbers, the caller 0. Each begins with its own share of the chunks, the first T-th being thread 0's,
// and helps the others when that is done: so of one operation after another a thread takes the same rows, as long as
// nobody is late, and finds in its own cache what it has written there. It is also the thread that touches a buffer's
// memory first.
type Pool struct {
	threads  int
	chosen   bool           // the number of threads is not given: Worth chooses it for each loop
	pingPong func() float64 // of this machine, in nanoseconds
	loop     atomic.Pointer[loop]
	workers  atomic.Int32
	numbers  []atomic.Bool // which of the workers' numbers are taken, from number 1 on
	worker   func()        // work, as a value that starting a goroutine need not allocate

	loops   shelf[loop] // what loops need, for the next one: running them allocates nothing
	shelves sync.Map    // of tasks, by their type
}

// NewPool returns a pool with the given number of threads, the caller's included. Below 1 the pool has one per
// processor, and Worth chooses how many of them share a loop.
func NewPool(threads int) *Pool {
	p := &Pool{threads: threads, pingPong: PingPong}
	if threads < 1 {
		p.threads, p.chosen = min(runtime.GOMAXPROCS(0), runtime.NumCPU()), true
	}
	p.numbers = make([]atomic.Bool, p.threads-1)
	p.worker = p.work
	return p
}

// Threads returns the number of threads that share a loop.
func (p *Pool) Threads() int { return p.threads }

// For calls body(0) … body(chunks−1), each once, on the pool's threads. The chunks must not depend on one another, and
// their number must not depend on the number of threads if sums are split over them. A panic in body comes out here.
func (p *Pool) For(chunks int, body func(chunk int)) { p.Run(chunks, 1, eachChunk(body)) }

// Tasks is For with the number of the thread that a task runs on: of one call no two tasks at a time have the same.
func (p *Pool) Tasks(n int, body func(thread, task int)) { p.Run(n, 1, eachTask(body)) }

// Range splits 0 … n−1 into chunks of the given size and calls body(from, to) for each.
func (p *Pool) Range(n, size int, body func(from, to int)) { p.Run(n, size, eachRange(body)) }

// Rows is Range over n rows of d entries, in chunks of about as many entries as those of an elementwise loop.
func (p *Pool) Rows(n, d int, body func(from, to int)) { p.Range(n, rowGrain(d), body) }

// Job is the body of a loop. As a closure it is allocated for every loop; as a pointer to arguments it need not be.
type Job interface{ Do(from, to int) }

type (
	eachChunk func(chunk int)
	eachRange func(from, to int)
	eachTask  func(thread, task int)
)

func (f eachChunk) Do(from, _ int)  { f(from) }
func (f eachRange) Do(from, to int) { f(from, to) }
func (f eachTask) Do(from, _ int)   { f(0, from) }

// Run calls j.Do for the chunks of 0 … n−1, of the given size each.
func (p *Pool) Run(n, size int, j Job) { p.RunOn(p.threads, n, size, j) }

// RunOn is Run on some of the pool's threads, as many as Worth returned.
func (p *Pool) RunOn(threads, n, size int, j Job) {
	chunks := (n + size - 1) / size
	if threads = min(threads, p.threads); threads < 2 || chunks < 2 {
		for i := range chunks {
			j.Do(i*size, min(n, (i+1)*size))
		}
		return
	}
	l := p.loops.take()
	l.begin(j, n, size, chunks, threads, p.threads)
	p.loop.Store(l)
	for n := p.workers.Load(); int(n) < threads-1; n = p.workers.Load() {
		if p.workers.CompareAndSwap(n, n+1) {
			go p.worker()
		}
	}
	l.run(0)
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
	number := p.number()
	defer p.numbers[number-1].Store(false)
	last := time.Now()
	for spins := 1; ; spins++ {
		if l := p.loop.Load(); l != nil && l.run(number) {
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

// number takes one for a worker. There are as many as workers, so one is free.
func (p *Pool) number() int {
	for i := 0; ; i = (i + 1) % len(p.numbers) {
		if p.numbers[i].CompareAndSwap(false, true) {
			return i + 1
		}
	}
}
