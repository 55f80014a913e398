package kernel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

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
