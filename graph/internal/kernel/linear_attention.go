package kernel

import "math"

// scanTokens is the number of tokens that linear attention takes at a time: within such a chunk it multiplies queries and
// keys, between chunks it passes on sums.
const scanTokens = 64

// LinearAttention is the attention of every head of packed projections qkv (Batch·Tokens, Heads·(2·QK + V)) with weights
// φ(q)·φ(k), divided by their sum. If it is Causal a query sees the keys up to its own, else all.
type LinearAttention[T Float] struct {
	Batch, Tokens, Heads, QK, V int // of tokens, those of a sequence
	Phi                         Features[T]
	Causal                      bool
}

// StateLen is the number of floats in the sums of all heads, φ(k)ᵀ[v, 1] each.
func (l LinearAttention[T]) StateLen() int {
	return l.Batch * l.Heads * l.Phi.Size(l.QK) * (l.V + 1)
}

// ScratchLen is the number of floats that Forward and Backward want as scratch, a share for each thread.
func (l LinearAttention[T]) ScratchLen(pool *Pool) int {
	f, w, c := l.Phi.Size(l.QK), l.V+1, min(l.Tokens, scanTokens)
	return pool.Threads() * ((2*f*w + 3*c*(f+w) + c*c + 15) &^ 15)
}

// Forward computes y (Batch·Tokens, Heads·V), and leaves the sum of every query's weights in total (Batch, Heads, Tokens).
// A key that the last query does not see in the mask, (Tokens, Tokens) or one for each sequence, weighs nothing; nil hides
// none. If there is a state the sums begin as they are there, those of the tokens before, and end there.
func (l LinearAttention[T]) Forward(pool *Pool, y, total, qkv, mask, state, scratch []T) {
	tasks, n := l.Batch*l.Heads, l.Tokens
	if pool.Threads() == 1 || 4*tasks*n*l.Phi.Size(l.QK)*(l.V+1) < serialCost {
		for i := range tasks {
			l.scan(i, qkv, mask, state, scratch).forward(y, total[i*n:(i+1)*n])
		}
		return
	}
	l.forwardInTurns(pool, y, total, qkv, mask, state, scratch)
}

func (l LinearAttention[T]) forwardInTurns(pool *Pool, y, total, qkv, mask, state, scratch []T) {
	inTurns(pool, l.Batch*l.Heads, scratch, func(i int, scratch []T) {
		l.scan(i, qkv, mask, state, scratch).forward(y, total[i*l.Tokens:][:l.Tokens])
	})
}

// Backward computes dqkv from dy and from what Forward has left.
func (l LinearAttention[T]) Backward(pool *Pool, dqkv, qkv, mask, y, dy, total, scratch []T) {
	inTurns(pool, l.Batch*l.Heads, scratch, func(i int, scratch []T) {
		l.scan(i, qkv, mask, nil, scratch).backward(dqkv, y, dy, total[i*l.Tokens:][:l.Tokens])
	})
}

// scan goes through the tokens of head j of sequence b. The sum of the weights is one more column of the result: that of a
// value that is always 1.
type scan[T Float] struct {
	LinearAttention[T]
	q, k, v Matrix[T] // of the whole sequence
	b, j    int
	f, w    int // entries of φ, and of a value with its 1
	hidden  []T // −∞ for a key that nobody sees; nil if there is none

	past, future      Matrix[T] // Σ φ(k)ᵀ[v, 1] and Σ φ(q)ᵀ[g, e] over chunks, (f, w)
	phiQ, phiK, dphi  Matrix[T] // of a chunk, (c, f)
	values, g, out, a Matrix[T] // of a chunk, (c, w); the last (c, c)
}

func (l LinearAttention[T]) scan(i int, qkv, mask, state, scratch []T) scan[T] {
	s := scan[T]{LinearAttention: l, b: i / l.Heads, j: i % l.Heads, f: l.Phi.Size(l.QK), w: l.V + 1}
	s.q, s.k, s.v = s.split(qkv)
	if mask != nil {
		n := l.Tokens
		s.hidden = mask[(s.b%(len(mask)/(n*n))+1)*n*n-n:][:n]
	}
	take := func(rows, cols int) Matrix[T] {
		m := Mat(scratch[:rows*cols], cols)
		scratch = scratch[rows*cols:]
		return m
	}
	c := min(l.Tokens, scanTokens)
	s.past, s.future = take(s.f, s.w), take(s.f, s.w)
	s.phiQ, s.phiK, s.dphi = take(c, s.f), take(c, s.f), take(c, s.f)
	s.values, s.g, s.out, s.a = take(c, s.w), take(c, s.w), take(c, s.w), take(c, c)
	if clear(s.past.Data); state != nil {
		s.past.Data = state[i*s.f*s.w:][:s.f*s.w]
	}
	return s
}

// split views the head's queries, keys and values in a packed matrix.
func (s *scan[T]) split(packed []T) (q, k, v Matrix[T]) {
	m := Mat(packed, s.Heads*(2*s.QK+s.V)).from(s.b*s.Tokens, 0)
	return m.from(0, s.j*s.QK), m.from(0, (s.Heads+s.j)*s.QK), m.from(0, 2*s.Heads*s.QK+s.j*s.V)
}

// load computes what a pass needs of the tokens from … to, and returns their number.
func (s *scan[T]) load(from, to int) (c int) {
	c = to - from
	s.Phi.of(s.phiQ.Data[:c*s.f], s.q.from(from, 0), s.QK)
	s.Phi.of(s.phiK.Data[:c*s.f], s.k.from(from, 0), s.QK)
	s.hide(s.phiK.Data, from, to)
	for i := range c {
		row := s.values.Data[i*s.w:][:s.w]
		copy(row, s.v.from(from+i, 0).Data[:s.V])
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

// forward computes φ(q)·past + (φ(q)φ(k)ᵀ below the diagonal)·[v, 1] chunk by chunk.
func (s scan[T]) forward(y, total []T) {
	n, chunk := s.Tokens, min(s.Tokens, scanTokens)
	for from := 0; from < n && !s.Causal; from += chunk {
		s.remember(s.load(from, min(n, from+chunk)))
	}
	for from := 0; from < n; from += chunk {
		c := s.load(from, min(n, from+chunk))
		GemmSerial(c, s.w, s.f, 1, s.phiQ, s.past, 0, s.out)
		if s.Causal {
			GemmSerial(c, s.w, c, 1, s.weights(c, s.phiQ, s.phiK, s.f), s.values, 1, s.out)
			s.remember(c)
		}
		for i := range c {
			row := s.out.Data[i*s.w:][:s.w]
			sum := row[s.V]
			total[from+i] = sum
			out := y[((s.b*n+from+i)*s.Heads+s.j)*s.V:][:s.V]
			for j, v := range row[:s.V] {
				out[j] = v / sum
			}
		}
	}
}

// remember adds c keys and values to the past.
func (s *scan[T]) remember(c int) { GemmSerial(s.f, s.w, c, 1, s.phiK.T(), s.values, 1, s.past) }

// weights is x·yᵀ of the first c rows, 0 above the diagonal.
func (s *scan[T]) weights(c int, x, y Matrix[T], k int) Matrix[T] {
	a := Mat(s.a.Data[:c*c], c)
	GemmSerial(c, c, k, 1, x, y.T(), 0, a)
	for i := range c {
		clear(a.Data[i*c+i+1 : (i+1)*c])
	}
	return a
}
