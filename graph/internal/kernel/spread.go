package kernel

import "sync/atomic"

// Spread calls Do for the chunks of 0 … n−1, of the given size each, on a copy of the task. The pool keeps this copy
// for the next loop of the same type, so running it allocates nothing.
func Spread[X any, J interface {
	*X
	Job
}](p *Pool, n, size int, task X) {
	SpreadOn[X, J](p, p.threads, n, size, task)
}

// SpreadOn is like Spread, but uses at most the given number of the pool's threads, as returned by Worth.
func SpreadOn[X any, J interface {
	*X
	Job
}](p *Pool, threads, n, size int, task X) {
	shelf := shelfOf[X](p)
	x := shelf.take()
	*x = task
	p.RunOn(threads, n, size, J(x))
	*x = *new(X) // drop the references to the operands
	shelf.give(x)
}

// shelfOf returns the pool's shelf for tasks of type X.
func shelfOf[X any](p *Pool) *shelf[X] {
	s, ok := p.shelves.Load(kind[X]{})
	if !ok {
		s, _ = p.shelves.LoadOrStore(kind[X]{}, new(shelf[X]))
	}
	return s.(*shelf[X])
}

// kind is the key of type X in the map of shelves.
type kind[X any] struct{}

// shelf keeps an object for its next use. A caller that finds it empty, because another caller uses the object, creates
// a new one.
type shelf[X any] struct{ x atomic.Pointer[X] }

func (s *shelf[X]) take() *X {
	if x := s.x.Swap(nil); x != nil {
		return x
	}
	return new(X)
}

func (s *shelf[X]) give(x *X) { s.x.Store(x) }
