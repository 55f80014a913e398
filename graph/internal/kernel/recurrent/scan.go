package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// Entrywise is the linear recurrence of every entry by itself, in sequences of Tokens rows of Width features,
//
//	h_t = (1 + c_t)∘h_{t−1} + b_t,  or, if Average is true,  h_t = (1 + c_t)∘h_{t−1} − c_t∘b_t
//
// Gates 1 + c are given by c, which keeps the digits of gates near 1, and the state is carried in float64: thousands of
// roundings of a state that hardly changes would add up. Threads divide sequences and features; the results do not
// depend on their number.
type Entrywise struct {
	Tokens, Width int
	Average       bool
}

// lanes is the number of adjacent features whose states are carried together: rows that are read in their order.
const lanes = 128

// blocks returns the number of blocks of features.
func (l Entrywise) blocks() int { return (l.Width + lanes - 1) / lanes }

// spread returns the number of tasks of a pass over n numbers, and the number of tasks in a chunk of the pool.
func (l Entrywise) spread(n int) (tasks, size int) {
	return n / (l.Tokens * l.Width) * l.blocks(), max(1, 8192/(l.Tokens*lanes))
}

// part returns the entries of a task: from the first token's to the end of its sequence, and the number of features.
func (l Entrywise) part(task int) (begin, end, features int) {
	sequence, from := task/l.blocks(), task%l.blocks()*lanes
	return sequence*l.Tokens*l.Width + from, (sequence + 1) * l.Tokens * l.Width, min(lanes, l.Width-from)
}

// Scan computes h from c and b, (sequences·Tokens, Width) each. The state (sequences, 2, Width) is optional and
// otherwise 0: h before the first token, and what is lost when it is rounded to T. Scan replaces it by that after the
// last token.
func Scan[T kernel.Float](p *kernel.Pool, l Entrywise, h, b, c, state []T) {
	tasks, size := l.spread(len(h))
	kernel.Spread(p, tasks, size, scan[T]{l, h, b, c, state})
}

type scan[T kernel.Float] struct {
	Entrywise
	h, b, c, state []T
}

func (s *scan[T]) Do(first, last int) {
	for task := first; task < last; task++ {
		begin, end, features := s.part(task)
		var carry [lanes]float64
		var rounded, rest []T
		if s.state != nil {
			own := s.state[begin/(s.Tokens*s.Width)*2*s.Width+begin%s.Width:]
			rounded, rest = own[:features], own[s.Width:][:features]
			for j, v := range rounded {
				carry[j] = float64(v) + float64(rest[j])
			}
		}
		for at := begin; at < end; at += s.Width {
			if h, b, c := s.h[at:][:features], s.b[at:], s.c[at:]; s.Average {
				average(&carry, h, b, c)
			} else {
				advance(&carry, h, b, c)
			}
		}
		for j := range rounded {
			rounded[j] = T(carry[j])
			rest[j] = T(carry[j] - float64(rounded[j]))
		}
	}
}

// advance computes h = (1 + c)∘carry + b and stores it in carry, too.
func advance[T kernel.Float](carry *[lanes]float64, h, b, c []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Advance(simd.Float32s(h), simd.Float32s(b), simd.Float32s(c), carry)
		return
	}
	state, b, c := carry[:len(h)], b[:len(h)], c[:len(h)]
	for j, v := range state {
		v += float64(float64(c[j])*v) + float64(b[j]) // not joined to an operation that rounds once
		state[j], h[j] = v, T(v)
	}
}

// average computes h = (1 + c)∘carry − c∘b and stores it in carry, too.
func average[T kernel.Float](carry *[lanes]float64, h, b, c []T) {
	if fast := simd.Of[T](); fast != nil {
		fast.Average(simd.Float32s(h), simd.Float32s(b), simd.Float32s(c), carry)
		return
	}
	state, b, c := carry[:len(h)], b[:len(h)], c[:len(h)]
	for j, v := range state {
		v += float64(float64(c[j]) * (v - float64(b[j])))
		state[j], h[j] = v, T(v)
	}
}

// ScanBackward computes, with r_t = dh_t + (1 + c_{t+1})∘r_{t+1}, the gradients db_t = r_t and dc_t = r_t∘h_{t−1}, or,
// if Average is true, db_t = −c_t∘r_t and dc_t = r_t∘(h_{t−1} − b_t), where h_0 = 0, from what Scan has computed
// without a state. dc is optional.
func ScanBackward[T kernel.Float](p *kernel.Pool, l Entrywise, db, dc, dh, h, b, c []T) {
	tasks, size := l.spread(len(h))
	kernel.Spread(p, tasks, size, scanBackward[T]{l, db, dc, dh, h, b, c})
}

type scanBackward[T kernel.Float] struct {
	Entrywise
	db, dc, dh, h, b, c []T
}

func (s *scanBackward[T]) Do(first, last int) {
	for task := first; task < last; task++ {
		begin, _, features := s.part(task)
		var carry [lanes]float64
		final := begin + (s.Tokens-1)*s.Width
		for at := final; at >= begin; at -= s.Width {
			next := at + s.Width
			if at == final {
				next = at // the carry is 0
			}
			r := s.db[at:][:features]
			advance(&carry, r, s.dh[at:], s.c[next:])
			var before []T
			if at > begin {
				before = s.h[at-s.Width:][:features]
			}
			s.gradients(r, at, before)
		}
	}
}

// gradients turns r of a token into db and writes dc, given the state before it, which is nil before the first token.
func (s *scanBackward[T]) gradients(r []T, at int, before []T) {
	b, c := s.b[at:][:len(r)], s.c[at:][:len(r)]
	switch {
	case s.dc == nil:
	case before == nil && s.Average:
		for j, v := range r {
			s.dc[at+j] = -v * b[j]
		}
	case before == nil:
		clear(s.dc[at:][:len(r)])
	case s.Average:
		averageBackward(s.dc[at:][:len(r)], r, before, b, c)
		return
	default:
		kernel.Mul(s.dc[at:][:len(r)], r, before)
	}
	if s.Average {
		for j, v := range c {
			r[j] *= -v
		}
	}
}

// averageBackward computes dc = r∘(before − b) and r = −c∘r.
func averageBackward[T kernel.Float](dc, r, before, b, c []T) {
	if fast := simd.Of[T](); fast != nil {
		f := simd.Float32s[T]
		fast.AverageBackward(f(dc), f(r), f(before), f(b), f(c))
		return
	}
	before, b, c = before[:len(dc)], b[:len(dc)], c[:len(dc)]
	for j, v := range r {
		dc[j], r[j] = v*(before[j]-b[j]), -c[j]*v
	}
}
