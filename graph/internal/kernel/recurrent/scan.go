package recurrent

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

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
	if len(h) < lanes {
		b, c = b[:len(h)], c[:len(h)]
		for j := range h {
			v := carry[j] + (float64(c[j])*carry[j] + float64(b[j]))
			carry[j], h[j] = v, T(v)
		}
		return
	}
	y, x, f := (*[lanes]T)(h), (*[lanes]T)(b), (*[lanes]T)(c)
	for j := range lanes {
		v := carry[j] + (float64(f[j])*carry[j] + float64(x[j]))
		carry[j], y[j] = v, T(v)
	}
}

// average computes h = (1 + c)∘carry − c∘b and stores it in carry, too.
func average[T kernel.Float](carry *[lanes]float64, h, b, c []T) {
	if len(h) < lanes {
		b, c = b[:len(h)], c[:len(h)]
		for j := range h {
			v := carry[j] + float64(c[j])*(carry[j]-float64(b[j]))
			carry[j], h[j] = v, T(v)
		}
		return
	}
	y, x, f := (*[lanes]T)(h), (*[lanes]T)(b), (*[lanes]T)(c)
	for j := range lanes {
		v := carry[j] + float64(f[j])*(carry[j]-float64(x[j]))
		carry[j], y[j] = v, T(v)
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
	if s.dc != nil {
		dc, b := s.dc[at:][:len(r)], s.b[at:][:len(r)]
		switch {
		case before == nil && s.Average:
			for j, v := range r {
				dc[j] = -v * b[j]
			}
		case before == nil:
			clear(dc)
		case s.Average:
			before = before[:len(r)]
			for j, v := range r {
				dc[j] = v * (before[j] - b[j])
			}
		default:
			kernel.Mul(dc, r, before)
		}
	}
	if s.Average {
		for j, c := range s.c[at:][:len(r)] {
			r[j] *= -c
		}
	}
}
