// Package kernel implements the arithmetic of the graph's fast operations: plain slices in, plain slices out, float32
// and float64 from one source. It depends on neither graphs nor tensors.
//
// The order of every sum depends on the sizes only, never on the number of threads, so the results are bit for bit the
// same on one core and on many.
package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

//go:generate go run ./gen

// Float is the type of the numbers: every kernel exists for both types.
type Float interface{ float32 | float64 }

// Bytes returns the memory of x.
func Bytes[T Float](x []T) int { return len(x) * int(unsafe.Sizeof(*new(T))) }

// idle is the time for which a worker looks for the next loop before it ends. The gaps between two operations of a
// training step are shorter, the gaps between two programs longer.
const idle = 300 * time.Microsecond

// Pool runs loops on a fixed number of threads. Its workers live while there is work. The caller of a loop begins at
// once and claims chunks like every worker. At the end it waits only for chunks that are claimed, never for a worker to
// wake up. An idle pool holds no goroutine.
//
// Threads are numbered, and the caller is thread 0. Each begins with its own share of the chunks, thread 0 with the
// first T-th of them, and helps the others when its share is done. In consecutive operations a thread therefore takes
// the same rows, unless another thread is late, and finds in its own cache what it has written there. It is also the
// first thread to touch that part of a buffer's memory.
type Pool struct {
	threads  int
	chosen   bool           // the number of threads is not given: Worth chooses it for each loop
	pingPong func() float64 // measures this machine's ping-pong time, in nanoseconds
	loop     atomic.Pointer[loop]
	workers  atomic.Int32
	numbers  []atomic.Bool // marks the worker numbers in use, from number 1 on
	worker   func()        // the method work as a value, so that starting a goroutine does not allocate it

	loops   shelf[loop] // keeps a loop for reuse, so that running one allocates nothing
	shelves sync.Map    // of tasks, by their type
}

// NewPool returns a pool with the given number of threads, including the caller. If threads is below 1, the pool has
// one thread per processor, and Worth chooses the number of threads that share a loop.
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
// their number must not depend on the number of threads if sums are split over them. For passes on a panic in body.
func (p *Pool) For(chunks int, body func(chunk int)) { p.Run(chunks, 1, eachChunk(body)) }

// Tasks is like For, but passes body the number of the thread as well: two tasks that run at the same time have
// different numbers.
func (p *Pool) Tasks(n int, body func(thread, task int)) { p.Run(n, 1, eachTask(body)) }

// Range splits 0 … n−1 into chunks of the given size and calls body(from, to) for each.
func (p *Pool) Range(n, size int, body func(from, to int)) { p.Run(n, size, eachRange(body)) }

// Rows is like Range for n rows of d entries. A chunk has about as many entries as one of an elementwise loop.
func (p *Pool) Rows(n, d int, body func(from, to int)) { p.Range(n, rowGrain(d), body) }

// Job is the body of a loop. A closure is allocated for every loop; a pointer to arguments can be reused.
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

// RunOn is like Run, but uses at most the given number of the pool's threads, as returned by Worth.
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

// number reserves a number for a worker. There are as many numbers as workers, so one is free.
func (p *Pool) number() int {
	for i := 0; ; i = (i + 1) % len(p.numbers) {
		if p.numbers[i].CompareAndSwap(false, true) {
			return i + 1
		}
	}
}
