package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// scan is a pass over the tokens of some heads of sequence b. It processes all heads in a chunk before the next chunk,
// so that a token is fetched from memory once even in a long sequence. The sum of the weights is one more column of the
// result, for a value that is always 1.
type scan[T kernel.Float] struct {
	Linear[T]
	b, first, last     int // heads first … last − 1
	f, w               int // length of φ, and of a value with its 1
	qkv                []T
	hidden             []T // −∞ for a key that no query attends to; nil if no key is hidden
	prefixes, suffixes []T // of all heads: Σ φ(k)ᵀ[v, 1] and Σ φ(q)ᵀ[g, e] over chunks

	j                int            // the current head
	q, k, v          gemm.Matrix[T] // its part of the entire sequence
	prefix, suffix   gemm.Matrix[T] // its sums, (f, w)
	phiQ, phiK, dphi gemm.Matrix[T] // of a chunk, (c, f)
	values, g, out   gemm.Matrix[T] // of a chunk, (c, w)
	a                gemm.Matrix[T] // (c, c)
}

func (l Linear[T]) scan(b, first, heads int, qkv, mask, state, scratch []T) scan[T] {
	s := scan[T]{
		Linear: l, b: b, first: first, last: min(l.Heads, first+heads),
		f: l.Phi.Size(l.QK), w: l.V + 1, qkv: qkv,
	}
	if mask != nil {
		s.hidden = mask[b*l.Tokens%len(mask):][:l.Tokens]
	}
	take := func(rows, cols int) gemm.Matrix[T] {
		m := gemm.Mat(scratch[:rows*cols], cols)
		scratch = scratch[rows*cols:]
		return m
	}
	c, sums := min(l.Tokens, scanTokens), (s.last-first)*s.f*s.w
	s.phiQ, s.phiK, s.dphi = take(c, s.f), take(c, s.f), take(c, s.f)
	s.values, s.g, s.out, s.a = take(c, s.w), take(c, s.w), take(c, s.w), take(c, c)
	s.prefixes, s.suffixes = take(1, sums).Data, take(1, sums).Data
	if clear(s.prefixes); state != nil {
		s.prefixes = state[(b*l.Heads+first)*s.f*s.w:][:sums]
	}
	return s
}

// pick makes head j the current one.
func (s *scan[T]) pick(j int) {
	s.j = j
	s.q, s.k, s.v = s.split(s.qkv)
	s.prefix = gemm.Mat(s.prefixes[(j-s.first)*s.f*s.w:][:s.f*s.w], s.w)
	s.suffix = gemm.Mat(s.suffixes[(j-s.first)*s.f*s.w:][:s.f*s.w], s.w)
}

// split views the head's queries, keys and values in a packed matrix.
func (s *scan[T]) split(packed []T) (q, k, v gemm.Matrix[T]) {
	m := gemm.Mat(packed, s.Heads*(2*s.QK+s.V)).From(s.b*s.Tokens, 0)
	return m.From(0, s.j*s.QK), m.From(0, (s.Heads+s.j)*s.QK), m.From(0, 2*s.Heads*s.QK+s.j*s.V)
}

// load picks head j and computes the inputs of a pass for a chunk of its tokens. It returns the number of tokens.
func (s *scan[T]) load(j, from int) (c int) {
	s.pick(j)
	c = min(scanTokens, s.Tokens-from)
	s.Phi.of(s.phiQ.Data[:c*s.f], s.q.From(from, 0), s.QK)
	s.Phi.of(s.phiK.Data[:c*s.f], s.k.From(from, 0), s.QK)
	s.hide(s.phiK.Data, from, from+c)
	for i := range c {
		row := s.values.Data[i*s.w:][:s.w]
		copy(row, s.v.From(from+i, 0).Data[:s.V])
		row[s.V] = 1
	}
	return c
}

// hide clears the rows of hidden keys.
func (s *scan[T]) hide(rows []T, from, to int) {
	if s.hidden == nil {
		return
	}
	for i, v := range s.hidden[from:to] {
		if math.IsInf(float64(v), -1) {
			clear(rows[i*s.f:][:s.f])
		}
	}
}
