package kernel

import "sync/atomic"

// loop is a job for 0 … n−1. It is reused for another job as soon as it is done, even if a slow worker still holds it.
// This is safe because a worker that has run chunks may look for more, and the loop is not done before that worker has
// reported its chunks.
type loop struct {
	shares  []share      // one for each thread of the pool
	threads atomic.Int64 // the number that take part; the shares of the others are empty
	done    atomic.Int64
	job     Job
	n, size int
	failure atomic.Pointer[any]
}

// share holds the chunks that a thread is the first to claim. Chunks first … end−1 are left, with first in the upper
// half of the word. A share has a cache line to itself, because only its own thread writes there unless it is late.
type share struct {
	left atomic.Uint64
	_    [Line - 8]byte
}

// begin sets up the loop. It stores the shares last, because a worker that still holds the loop may then begin.
func (l *loop) begin(j Job, n, size, chunks, threads, all int) {
	if l.shares == nil {
		l.shares = make([]share, all)
	}
	l.job, l.n, l.size = j, n, size
	l.done.Store(0)
	l.threads.Store(int64(threads))
	for i := range threads {
		l.shares[i].left.Store(uint64(i*chunks/threads)<<32 | uint64((i+1)*chunks/threads))
	}
}

// run does the thread's own share from its beginning, then the rest of the other shares from their ends, which their
// threads would reach last. It reports whether it ran any chunk. It adds to the loop's counter only once, at the end: a
// cache line written for every chunk would move between the threads with every chunk.
func (l *loop) run(thread int) (any bool) {
	done, threads := int64(0), int(l.threads.Load())
	if thread >= threads {
		return false
	}
	for i := range threads {
		s := &l.shares[(thread+i)%threads]
		for chunk, ok := s.claim(i == 0); ok; chunk, ok = s.claim(i == 0) {
			l.chunk(thread, chunk)
			done++
		}
	}
	if done > 0 {
		l.done.Add(done)
	}
	return done > 0
}

func (s *share) claim(own bool) (chunk int, ok bool) {
	for {
		left := s.left.Load()
		first, end := left>>32, left&(1<<32-1)
		if first >= end {
			return 0, false
		}
		chunk, rest := int(first), left+1<<32
		if !own {
			chunk, rest = int(end)-1, left-1
		}
		if s.left.CompareAndSwap(left, rest) {
			return chunk, true
		}
	}
}

func (l *loop) chunk(thread, i int) {
	defer l.recover()
	if f, ok := l.job.(eachTask); ok {
		f(thread, i)
		return
	}
	l.job.Do(i*l.size, min(l.n, (i+1)*l.size))
}

func (l *loop) recover() {
	if r := recover(); r != nil {
		l.fail(r)
	}
}

// fail keeps the first panic. It is not part of recover, so that a chunk that does not panic allocates nothing.
func (l *loop) fail(r any) { l.failure.CompareAndSwap(nil, &r) }
