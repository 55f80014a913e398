package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// pass is a pass over the tokens of one head of one sequence, chunk by chunk.
type pass[T kernel.Float] struct {
	Linear[T]
	x           Operands[T]
	task, b, h  int
	from, c     int  // the chunk
	handed      bool // the state is passed on after the last token
	fresh       bool // the state before the chunk is 0
	ended       bool // the gradient of the state after the chunk is 0
	decay       decay[T]
	state       []T // (dρ, dh)
	q, k, v     []T // of the chunk, as are all that follow
	beta        []T
	u           []T // written values (c, dh)
	scaled      []T // queries or keys times gates  (c, dρ)
	a, n        []T // (c, c)
	w           []T // u/β (c, dh)
	dy, du      []T // (c, dh)
	dq, dk, dkr []T // gradients of queries, written keys and read keys  (c, dρ)
	last        []T // gradient of the logarithms of the gates that reaches the last token  (dρ)
	dstate      []T // (dρ, dh)
	diagonal    []T // gradients of q_i·k_i  (c)
	dots        []T // sums of rows, as are dotsW and dotsR  (c)
	dotsW       []T
	dotsR       []T
	one, minus  []T // the numbers 1 and −1
}

func newPass[T kernel.Float](l Linear[T], a *arena[T]) *pass[T] {
	c := min(l.Tokens, chunkTokens)
	keys, values := c*l.QK, c*l.V
	s := &pass[T]{
		Linear: l, state: a.take(l.QK * l.V), q: a.take(keys), k: a.take(keys), v: a.take(values), beta: a.take(c),
		u: a.take(values), scaled: a.take(keys), a: a.take(c * c), n: a.take(c * c),
		dy: a.take(values), du: a.take(values), w: a.take(values),
		dq: a.take(keys), dk: a.take(keys), dkr: a.take(keys), last: a.take(l.QK), dstate: a.take(l.QK * l.V),
		diagonal: a.take(c), dots: a.take(c), dotsW: a.take(c), dotsR: a.take(c),
		one: []T{1}, minus: []T{-1},
	}
	if l.Gates > 1 {
		s.decay = newEach(l, c, a)
	} else {
		s.decay = newEven(l, c, a)
	}
	return s
}

// keys and values return the operands of products.
func (s *pass[T]) keys(x []T) gemm.Matrix[T]   { return gemm.Mat(x, s.QK) }
func (s *pass[T]) values(x []T) gemm.Matrix[T] { return gemm.Mat(x, s.V) }
func (s *pass[T]) pairs(x []T) gemm.Matrix[T]  { return gemm.Mat(x, s.c) }

// row returns the part of head h in the row of token from + i of x, which has a width of numbers for each head.
func (s *pass[T]) row(x []T, i, width int) []T {
	return x[((s.b*s.Tokens+s.from+i)*s.Heads+s.h)*width:][:width]
}

// packed returns the parts of head h in the row of token from + i of packed queries, keys and values.
func (s *pass[T]) packed(x []T, i int) (q, k, v []T) {
	n := s.Heads * (2*s.QK + s.V)
	x = x[(s.b*s.Tokens+s.from+i)*n:][:n]
	return x[s.h*s.QK:][:s.QK], x[(s.Heads+s.h)*s.QK:][:s.QK], x[2*s.Heads*s.QK+s.h*s.V:][:s.V]
}

// load reads the chunk that begins at token from.
func (s *pass[T]) load(from int) {
	s.from, s.c = from, min(chunkTokens, s.Tokens-from)
	for i := range s.c {
		q, k, v := s.packed(s.x.QKV, i)
		copy(s.q[i*s.QK:], q)
		copy(s.k[i*s.QK:], k)
		copy(s.v[i*s.V:], v)
	}
	for i := range s.c {
		if s.beta[i] = 1; s.x.Beta != nil {
			s.beta[i] = s.row(s.x.Beta, i, 1)[0]
		}
	}
	s.decay.load(s.c, func(i int) []T {
		if s.Fixed {
			return s.x.Gates[s.h*s.Gates:][:s.Gates]
		}
		return s.row(s.x.Gates, i, s.Gates)
	})
}

// byBeta computes y = Diag(β)·x, for values.
func (s *pass[T]) byBeta(y, x []T) {
	n := s.c * s.V
	if &y[0] != &x[0] {
		copy(y[:n], x)
	}
	if s.x.Beta != nil {
		kernel.ScaleRows(y, s.beta[:s.c], s.V, s.V)
	}
}

// lacking computes w = V − (K∘α_{1…i})·S, what the earlier chunks lack of the values.
func (s *pass[T]) lacking() {
	copy(s.w[:s.c*s.V], s.v)
	if !s.fresh {
		s.decay.begin(s.scaled, s.k)
		gemm.MulSerial(s.c, s.V, s.QK, -1, s.keys(s.scaled), s.values(s.state), 1, s.values(s.w))
	}
}

// written computes u, the values that the tokens write, and w.
func (s *pass[T]) written() {
	if !s.Delta {
		s.byBeta(s.u, s.v)
		return
	}
	s.lacking()
	s.decay.scores(s.n, s.k, s.k)
	s.solve(0, s.c)
}

// scores computes a, with q_i·k_i on the diagonal.
func (s *pass[T]) scores() {
	s.decay.scores(s.a, s.q, s.k)
	dots := s.diagonal[:s.c]
	kernel.DotRows(dots, s.q, s.k, s.QK, s.QK)
	for i, v := range dots {
		s.a[i*s.c+i] = v
	}
}

// write adds what the tokens write to the state.
func (s *pass[T]) write() {
	if !s.fresh {
		s.decay.all(s.state, s.V)
	}
	s.decay.end(s.scaled, s.k)
	gemm.MulSerial(s.QK, s.V, s.c, 1, s.keys(s.scaled).T(), s.values(s.u), 1, s.values(s.state))
}

// keptState returns the state before the chunk, and keptW the w of the chunk, both in kept.
func (s *pass[T]) keptState(kept []T) []T {
	n := s.QK * s.V
	return kept[(s.task*s.chunks()+s.from/chunkTokens)*n:][:n]
}

func (s *pass[T]) keptW(kept []T) []T {
	return kept[s.chunks()*s.StateLen():][(s.task*s.Tokens+s.from)*s.V:][:s.c*s.V]
}

func (s *pass[T]) forward(y, kept []T) {
	for from := 0; from < s.Tokens; from += chunkTokens {
		s.load(from)
		s.begins()
		if kept != nil {
			copy(s.keptState(kept), s.state)
		}
		s.written()
		if kept != nil && s.Delta {
			copy(s.keptW(kept), s.w)
		}
		s.scores()
		out, earlier := s.rows(y), T(0)
		if !s.fresh {
			s.decay.begin(s.scaled, s.q)
			gemm.MulSerial(s.c, s.V, s.QK, 1, s.keys(s.scaled), s.values(s.state), 0, out)
			earlier = 1
		}
		lowerMul(s.c, s.V, s.pairs(s.a), s.values(s.u), earlier, out)
		if s.handed || from+s.c < s.Tokens {
			s.write()
		}
	}
}

// begins sets fresh, from the state before the chunk. Products with a state of 0 are left out: a text shorter than a
// chunk needs none.
func (s *pass[T]) begins() {
	s.fresh = s.from == 0
	for _, v := range s.state {
		if !s.fresh || v != 0 {
			s.fresh = false
			return
		}
	}
}

// rows views the chunk of the head in results (B·T, H·dh).
func (s *pass[T]) rows(y []T) gemm.Matrix[T] {
	return gemm.Matrix[T]{Data: y[((s.b*s.Tokens+s.from)*s.Heads+s.h)*s.V:], Stride: s.Heads * s.V}
}
