package kernel

import "sync/atomic"

// Spread calls Do for the chunks of 0 … n−1, of the given size each, on a copy of the task that the pool keeps for the
// next loop of its kind: running it allocates nothing.
func Spread[X any, J interface {
	*X
	Job
}](p *Pool, n, size int, task X) {
	SpreadOn[X, J](p, p.threads, n, size, task)
}

// SpreadOn is Spread on some of the pool's threads, as many as Worth returned.
func SpreadOn[X any, J interface {
	*X
	Job
}](p *Pool, threads, n, size int, task X) {
	shelf := shelfOf[X](p)
	x := shelf.take()
	*x = task
	p.RunOn(threads, n, size, J(x))
	*x = *new(X) // holds on to no operand
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

// kind stands for the type X among the shelves.
type kind[X any] struct{}

// shelf keeps an object for its next use. A caller that finds none, because another one is using it, makes one.
type shelf[X any] struct{ x atomic.Pointer[X] }

func (s *shelf[X]) take() *X {
	if x := s.x.Swap(nil); x != nil {
		return x
	}
	return new(X)
}

func (s *shelf[X]) give(x *X) { s.x.Store(x) }
