package kernel

import (
	"fmt"
	"runtime"
	"slices"
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
					t.Errorf(
						"caller %d: got %d and %d, want %d and %d", caller, a.Load(), b.Load(), 1000*caller,
						10_000*caller,
					)
				}
			}
		})
	}
	callers.Wait()
}

// chunksOf runs the rest of l as one of its threads, and returns these chunks in order.
func chunksOf(l *loop, thread int) (claimed []int) {
	l.job = eachChunk(func(chunk int) { claimed = append(claimed, chunk) })
	l.run(thread)
	return claimed
}

// TestThreadsBeginWithTheirShares: threads then help from the ends of other shares, which their threads reach last.
func TestThreadsBeginWithTheirShares(t *testing.T) {
	for _, tc := range []struct {
		chunks, threads, thread int
		want                    []int
	}{
		{6, 2, 0, []int{0, 1, 2, 5, 4, 3}},
		{6, 2, 1, []int{3, 4, 5, 2, 1, 0}},
		{7, 3, 1, []int{2, 3, 6, 5, 4, 1, 0}},
		{2, 3, 0, []int{0, 1}}, // fewer chunks than threads: their shares are not adjacent
	} {
		l := new(loop)
		l.begin(nil, tc.chunks, 1, tc.chunks, tc.threads, tc.threads)
		if got := chunksOf(l, tc.thread); !slices.Equal(got, tc.want) {
			t.Errorf("%d chunks, thread %d of %d: took %v, want %v", tc.chunks, tc.thread, tc.threads, got, tc.want)
		}
		if got := chunksOf(l, 0); got != nil {
			t.Errorf("%d chunks: %v are left", tc.chunks, got)
		}
	}
}

// TestSharesAreEven: a thread gets the same rows, into however many chunks an operation splits them.
func TestSharesAreEven(t *testing.T) {
	l := new(loop)
	for _, chunks := range []int{16, 64, 100, 1000} {
		l.begin(nil, chunks, 1, chunks, 16, 16)
		for i := range l.shares {
			left := l.shares[i].left.Load()
			first, end := int(left>>32), int(uint32(left))
			if a, z := i*chunks/16, (i+1)*chunks/16; first != a || end != z {
				t.Errorf("%d chunks: thread %d begins with %d … %d, want %d … %d", chunks, i, first, end, a, z)
			}
		}
	}
}

// TestThreadsHaveNumbersOfTheirOwn: while all threads of a pool are in a loop, no number is free.
func TestThreadsHaveNumbersOfTheirOwn(t *testing.T) {
	const threads = 5
	p := NewPool(threads)
	var in, out sync.WaitGroup
	in.Add(threads)
	out.Add(1)
	p.For(threads, func(chunk int) {
		in.Done()
		if in.Wait(); chunk > 0 {
			out.Wait()
			return
		}
		for i := range p.numbers {
			if !p.numbers[i].Load() {
				t.Errorf("number %d is free, and %d workers live", i+1, p.workers.Load())
			}
		}
		out.Done()
	})
}

// TestTasksKnowTheirThread: no other thread uses the scratch of a thread at the same time.
func TestTasksKnowTheirThread(t *testing.T) {
	for _, threads := range []int{1, 5} {
		p, busy := NewPool(threads), make([]atomic.Bool, threads)
		var ran atomic.Int32
		for _, tasks := range []int{1, 3, 200} {
			p.Tasks(tasks, func(thread, task int) {
				if busy[thread].Swap(true) {
					t.Errorf("task %d of %d: thread %d of %d is at another", task, tasks, thread, threads)
				}
				runtime.Gosched()
				ran.Add(1)
				busy[thread].Store(false)
			})
		}
		if ran.Load() != 204 {
			t.Errorf("%d threads: %d tasks ran, want 204", threads, ran.Load())
		}
	}
}

// The number of threads of a loop follows from its work and the time of a ping-pong.
func TestThreadsFor(t *testing.T) {
	for _, tc := range []struct {
		work, pingPong float64
		most, want     int
	}{
		{2_000, 500, 2, 1},
		{11_900, 500, 2, 1}, // two threads: 5,950 + 6,000
		{12_100, 500, 2, 2}, // 6,050 + 6,000
		{12_100, 500, 1, 1},
		{12_100, 5_000, 2, 1},
		{2_100, 90, 2, 1},
		{2_200, 90, 2, 2},
		{10_000, 500, 64, 4}, // 2,500 + 7,000
		{100_000, 500, 64, 14},
		{100_000, 500, 4, 4},
		{1e9, 500, 64, 64},
		{1e9, 500, 4096, 1414},
		{0, 500, 64, 1},
	} {
		if got := threadsFor(tc.work, tc.pingPong, tc.most); got != tc.want {
			t.Errorf(
				"%.0f ns, ping-pong %.0f ns, at most %d: got %d threads, want %d", tc.work, tc.pingPong, tc.most, got,
				tc.want,
			)
		}
	}
	for work := 1.0; work < 1e8; work *= 1.7 {
		for _, most := range []int{1, 2, 3, 8, 64} {
			least, want := work, 1
			for n := 2; n <= most; n++ {
				if d := shared(work, 300, n); d < least {
					least, want = d, n
				}
			}
			if got := threadsFor(work, 300, most); got != want {
				t.Errorf("%.0f ns, at most %d: got %d threads, %d take the least time", work, most, got, want)
			}
		}
	}
}

// A given number of threads shares every loop above SerialCost; otherwise the ping-pong decides.
func TestWorth(t *testing.T) {
	chosen := func(pingPong float64) *Pool {
		return &Pool{threads: 2, chosen: true, pingPong: func() float64 { return pingPong }}
	}
	near, far := chosen(92), chosen(506)
	for _, tc := range []struct {
		name             string
		operations       int
		near, far, given int
	}{
		{"none", 0, 1, 1, 1},
		{"below SerialCost", SerialCost - 1, 1, 1, 1},
		{"a token through 128 × 384", 2 * 128 * 384 * 9, 2, 1, 8},
		{"a token through 128 × 512", 2 * 128 * 512 * 9, 2, 1, 8},
		{"32 tokens through 128 × 384", 2 * 128 * 384 * 40, 2, 2, 8},
		{"a token through 768 × 768", 2 * 768 * 768 * 9, 2, 2, 8},
	} {
		if tc.operations >= SerialCost && speed[float32]() < 300 { // plain Go is slow enough to share all of them
			tc.far = 2
		}
		for _, pool := range []struct {
			p    *Pool
			want int
		}{{near, tc.near}, {far, tc.far}, {NewPool(8), tc.given}, {NewPool(1), 1}} {
			if got := Worth[float32](pool.p, tc.operations); got != pool.want {
				t.Errorf("%s, chosen %t: got %d threads, want %d", tc.name, pool.p.chosen, got, pool.want)
			}
		}
	}
	if got := parts[float32](NewPool(8), 1); got != 8 {
		t.Errorf("a small reduction: got %d threads, want the 8 that are given", got)
	}
	if got := parts[float32](near, 1); got != 1 {
		t.Errorf("a small reduction: got %d threads, want 1", got)
	}
}

// A loop on some of the threads runs on no others.
func TestRunOn(t *testing.T) {
	p := NewPool(8)
	for range 20 {
		for _, threads := range []int{1, 2, 5, 8, 20} {
			var ran atomic.Int64
			p.RunOn(threads, 64, 1, eachTask(func(thread, _ int) {
				if ran.Add(1); thread >= threads {
					t.Errorf("thread %d runs a task of a loop on %d threads", thread, threads)
				}
			}))
			if ran.Load() != 64 {
				t.Fatalf("%d threads: %d of 64 tasks ran", threads, ran.Load())
			}
		}
	}
}

// The ping-pong is measured once, and its limit is below a millisecond.
func TestPingPong(t *testing.T) {
	first := PingPong()
	if !(first >= 1) || first != PingPong() || pingPongLimit >= time.Millisecond {
		t.Errorf(
			"got %v, then %v, within %v; want one positive number within a millisecond", first, PingPong(),
			pingPongLimit,
		)
	}
	t.Logf("%.0f ns", first)
}
