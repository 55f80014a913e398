package kernel

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestPoolRunsEveryChunkOnce(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := NewPool(threads)
		if p.Threads() != threads {
			t.Errorf("got %d threads, want %d", p.Threads(), threads)
		}
		for _, chunks := range []int{0, 1, 2, 7, 1000} {
			for range 20 {
				count := make([]atomic.Int32, chunks)
				p.For(chunks, func(i int) { count[i].Add(1) })
				for i := range count {
					if n := count[i].Load(); n != 1 {
						t.Fatalf("%d threads, %d chunks: chunk %d ran %d times", threads, chunks, i, n)
					}
				}
			}
		}
	}
}

func TestPoolRangeCoversEverything(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 95} {
		seen := make([]atomic.Int32, n)
		NewPool(3).Range(n, 10, func(from, to int) {
			for i := from; i < to; i++ {
				seen[i].Add(1)
			}
		})
		for i := range seen {
			if seen[i].Load() != 1 {
				t.Errorf("n = %d: entry %d seen %d times", n, i, seen[i].Load())
			}
		}
	}
}

// TestPoolPanicsInTheCaller: For passes on a panic from any thread, and the pool continues to work.
func TestPoolPanicsInTheCaller(t *testing.T) {
	for _, threads := range []int{1, 4} {
		p := NewPool(threads)
		for bad := range 8 {
			func() {
				defer func() {
					if r := recover(); fmt.Sprint(r) != "chunk 3" {
						t.Errorf("%d threads, round %d: recovered %v", threads, bad, r)
					}
				}()
				p.For(8, func(i int) {
					if i == 3 {
						panic("chunk 3")
					}
				})
			}()
		}
		var ran atomic.Int32
		if p.For(100, func(int) { ran.Add(1) }); ran.Load() != 100 {
			t.Errorf("after a panic %d of 100 chunks ran", ran.Load())
		}
	}
}

// TestPoolHoldsNoGoroutineWhenLeftAlone waits until the workers have ended, and does not end otherwise.
func TestPoolHoldsNoGoroutineWhenLeftAlone(t *testing.T) {
	before := runtime.NumGoroutine()
	p := NewPool(6)
	for range 50 {
		p.For(64, func(int) { runtime.Gosched() })
	}
	if n := p.workers.Load(); n > 5 {
		t.Errorf("%d workers besides the caller, want at most 5", n)
	}
	for p.workers.Load() > 0 || runtime.NumGoroutine() > before {
		time.Sleep(time.Millisecond)
	}
}

// TestPoolInsideItself: a chunk may run a loop, and several goroutines may use one pool.
func TestPoolInsideItself(t *testing.T) {
	p := NewPool(3)
	var sum atomic.Int64
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 20 {
				p.For(5, func(i int) {
					p.For(7, func(j int) { sum.Add(int64(7*i + j)) })
				})
			}
		})
	}
	callers.Wait()
	if want := int64(4 * 20 * 35 * 34 / 2); sum.Load() != want {
		t.Errorf("got %d, want %d", sum.Load(), want)
	}
}

func BenchmarkPool(b *testing.B) {
	p := NewPool(2)
	for b.Loop() {
		p.For(8, func(int) {})
	}
}

// sumTask adds the numbers of its chunk to sum.
type sumTask[T Float] struct {
	x   []T
	sum *atomic.Int64
}

func (s *sumTask[T]) Do(from, to int) {
	for _, v := range s.x[from:to] {
		s.sum.Add(int64(v))
	}
}

// TestSpreadKeepsTasksApart: simultaneous callers, with tasks of two types, have separate tasks.
func TestSpreadKeepsTasksApart(t *testing.T) {
	p := NewPool(3)
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			x, y := make([]float32, 1000), make([]float64, 1000)
			for i := range x {
				x[i], y[i] = float32(caller), float64(10*caller)
			}
			for range 50 {
				var a, b atomic.Int64
				Spread(p, len(x), 7, sumTask[float32]{x, &a})
				Spread(p, len(y), 7, sumTask[float64]{y, &b})
				if a.Load() != int64(1000*caller) || b.Load() != int64(10_000*caller) {
					t.Errorf("caller %d: got %d and %d, want %d and %d", caller, a.Load(), b.Load(), 1000*caller, 10_000*caller)
				}
			}
		})
	}
	callers.Wait()
}
