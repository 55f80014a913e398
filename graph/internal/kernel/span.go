package kernel

import "math"

// Spans is what attention knows of its mask: for every query the part of the keys that it may see. Keys outside of it cost
// nothing, so a causal mask halves the work and a window makes it linear in the context.
type Spans struct{ rows []span }

// span is keys from … to of a row of the mask: the rest is hidden. It is plain if the mask is 0 throughout.
type span struct {
	from, to int
	plain    bool
}

// look reads the mask again, which may have changed.
func look[T Float](pool *Pool, s *Spans, mask []T, n int) {
	if len(s.rows)*n != len(mask) {
		s.rows = make([]span, len(mask)/n)
	}
	pool.Range(len(s.rows), rowGrain(n), func(from, to int) {
		for i := from; i < to; i++ {
			s.rows[i] = spanOf(mask[i*n : (i+1)*n])
		}
	})
}

func spanOf[T Float](mask []T) span {
	hidden := T(math.Inf(-1))
	from, to := 0, len(mask)
	for to > 0 && mask[to-1] == hidden {
		to--
	}
	for from < to && mask[from] == hidden {
		from++
	}
	for _, v := range mask[from:to] {
		if v != 0 {
			return span{from, to, false}
		}
	}
	return span{from, to, true}
}

// within is the part of the span in keys from … to, counted from there.
func (s span) within(from, to int) (int, int) {
	a := min(max(s.from, from), to)
	return a - from, max(a, min(s.to, to)) - from
}

// around is the smallest span that holds all.
func around(rows []span) (from, to int) {
	from, to = math.MaxInt, 0
	for _, s := range rows {
		if s.from < s.to {
			from, to = min(from, s.from), max(to, s.to)
		}
	}
	return min(from, to), to
}
