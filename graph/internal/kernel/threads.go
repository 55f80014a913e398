package kernel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// SerialCost is the number of floating-point operations below which a loop is never shared with another thread.
const SerialCost = 500_000

// FetchRows is the number of rows of a matrix product that take as long as fetching the other matrix: fetching a number
// counts as 2·FetchRows operations.
const FetchRows = 8

// The cost of sharing a loop in ping-pongs: once, and for each thread. A thread fetches the loop, its share and its
// operands from another thread's cache, and the caller fetches the results. Two threads of a decoder were measured to
// lose some 12, on a machine on which one ping-pong takes 500 ns.
const (
	sharedOnce   = 10
	sharedByEach = 1
)

// Worth returns the number of threads that should share a loop of the given number of operations. A pool with a given
// number of threads always uses that number. Otherwise Worth compares the work with the time of a ping-pong.
func Worth[T Float](p *Pool, operations int) int {
	switch {
	case p.threads == 1 || operations < SerialCost:
		return 1
	case !p.chosen:
		return p.threads
	}
	return threadsFor(float64(operations)/speed[T](), p.pingPong(), p.threads)
}

// parts is like Worth for a reduction in a fixed number of parts, however small: a given number of threads stays.
func parts[T Float](p *Pool, operations int) int {
	if !p.chosen {
		return p.threads
	}
	return Worth[T](p, operations)
}

// Operations for each entry of the reductions, derived from their time.
const (
	normOperations = 100 // the backward pass of a norm
	sumOperations  = 50  // a sum over rows
)

// threadsFor returns the number of threads n, at most most, on which a loop ends first. Its time in nanoseconds is work
// on one thread, and work/n + (sharedOnce + n·sharedByEach)·pingPong on several.
func threadsFor(work, pingPong float64, most int) int {
	n := int(min(float64(most), math.Sqrt(work/(sharedByEach*pingPong))))
	if n = max(n, 2); n < most && shared(work, pingPong, n+1) < shared(work, pingPong, n) {
		n++
	}
	if n > most || shared(work, pingPong, n) >= work {
		return 1
	}
	return n
}

// shared returns the time of a loop on n > 1 threads.
func shared(work, pingPong float64, n int) float64 {
	return work/float64(n) + float64((sharedOnce+float64(float64(n)*sharedByEach))*pingPong)
}

// speed returns the number of operations that one thread does in a nanosecond: roughly the speed of a Zen 5 in small
// products, 250 … 440 in vector instructions. Plain Go takes some 20 times as long.
func speed[T Float]() float64 {
	if simd.Of[T]() != nil {
		return 300
	}
	return 15
}

// PingPong returns the time in nanoseconds in which two threads pass a cache line to each other and back. It is
// measured once per process, which takes less than a millisecond.
var PingPong = sync.OnceValue(measurePingPong)

const (
	usualPingPong = 500 // nanoseconds, if no measurement succeeds
	pingPongLimit = 800 * time.Microsecond
)

// measurePingPong returns the least of several measurements, because other programs may use the processors meanwhile.
func measurePingPong() float64 {
	if min(runtime.GOMAXPROCS(0), runtime.NumCPU()) < 2 {
		return usualPingPong
	}
	const rounds = 32
	var ball atomic.Int64 // even numbers are the caller's turn
	var over atomic.Bool
	go func() {
		for spins := 1; !over.Load(); spins++ {
			if n := ball.Load(); n%2 == 1 {
				ball.Store(n + 1)
			} else if spins%1024 == 0 {
				runtime.Gosched()
			}
		}
	}()
	defer over.Store(true)
	least := time.Duration(math.MaxInt64)
	for begun := time.Now(); time.Since(begun) < pingPongLimit; {
		first := time.Now()
		for range rounds {
			n := ball.Load() + 1
			ball.Store(n)
			for spins := 1; ball.Load() == n; spins++ {
				if spins%1024 == 0 && time.Since(begun) > pingPongLimit {
					return nanoseconds(least, rounds)
				}
			}
		}
		least = min(least, time.Since(first))
	}
	return nanoseconds(least, rounds)
}

// nanoseconds returns the time of one round, or the usual time if there was no measurement.
func nanoseconds(d time.Duration, rounds int) float64 {
	if d == math.MaxInt64 {
		return usualPingPong
	}
	return max(1, float64(d.Nanoseconds())/float64(rounds))
}
