package recurrent

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// chunkTokens is the number of tokens in a chunk of a linear recurrence: within a chunk it multiplies queries and keys,
// and between chunks it passes on a state.
const chunkTokens = 64

// Linear is the linear recurrence of every head of packed projections, with a state S of QK rows and V columns:
//
//	S ← Diag(α_t)·S,  u_t = β_t·(v_t − Sᵀ·k_t),  S ← S + k_t·u_tᵀ,  y_t = Sᵀ·q_t
//
// where u_t = β_t·v_t unless Delta is true. A chunk of c tokens needs no state of a token. With S₀ the state before it,
// a_ij = Σ_d q_id·k_jd·α_{j+1,d}⋯α_{i,d} for j ≤ i, n_ij the same of keys k_i and k_j for j < i, and α_{1…i} the
// product of all gates of the chunk up to token i,
//
//	(I + Diag(β)·n)·U = Diag(β)·(V − (K∘α_{1…i})·S₀),  Y = (Q∘α_{1…i})·S₀ + a·U,
//	S = Diag(α_{1…c})·S₀ + (K∘α_{i+1…c})ᵀ·U
//
// All products of gates go over consecutive tokens, so that none exceeds 1. Only products above 2⁻⁸⁰ are divided by one
// another.
type Linear[T kernel.Float] struct {
	Batch, Tokens, Heads, QK, V int  // Tokens is the length of a sequence
	Gates                       int  // gates of a head: none, 1, or one for each of the QK rows of the state
	Fixed                       bool // one row of gates holds for all tokens, and has no gradient
	Delta                       bool // u_t is the difference from the value that the state has for the key
}

// Operands are packed queries, keys and values (Batch·Tokens, Heads·(2·QK + V)), the logarithms of the gates, at most
// 0, (Batch·Tokens, Heads·Gates), and β (Batch·Tokens, Heads), which is optional and otherwise 1. They are also the
// gradients of these, all but the first of which are optional.
type Operands[T kernel.Float] struct{ QKV, Gates, Beta []T }

// chunks returns the number of chunks of a sequence.
func (l Linear[T]) chunks() int { return (l.Tokens + chunkTokens - 1) / chunkTokens }

// StateLen returns the number of floats in the states of all heads.
func (l Linear[T]) StateLen() int { return l.Batch * l.Heads * l.QK * l.V }

// KeptLen returns the number of floats that Forward keeps for Backward: the state before every chunk, and U/β if Delta.
func (l Linear[T]) KeptLen() int {
	n := l.chunks() * l.StateLen()
	if l.Delta {
		n += l.Batch * l.Heads * l.Tokens * l.V
	}
	return n
}

// ScratchLen returns the number of floats of scratch that Forward and Backward need, with a share for each thread.
func (l Linear[T]) ScratchLen(pool *kernel.Pool) int {
	var a arena[T]
	newPass(l, &a)
	return pool.Threads() * ((a.used + 15) &^ 15)
}

// Forward computes y (Batch·Tokens, Heads·V). It fills kept unless that is nil. The state (Batch, Heads, QK, V) is
// optional: it is that before the first token, and Forward replaces it by that after the last one.
func (l Linear[T]) Forward(pool *kernel.Pool, y []T, x Operands[T], kept, state, scratch []T) {
	l.perHead(pool, scratch, func(s *pass[T]) {
		s.x = x
		if s.handed = state != nil; s.handed {
			s.state = state[s.task*l.QK*l.V:][:l.QK*l.V]
		} else {
			clear(s.state)
		}
		s.forward(y, kept)
	})
}

// Backward computes the gradients d from dy and what Forward has kept.
func (l Linear[T]) Backward(pool *kernel.Pool, d, x Operands[T], dy, kept, scratch []T) {
	l.perHead(pool, scratch, func(s *pass[T]) {
		s.x = x
		s.backward(d, dy, kept)
	})
}

// perHead runs body for every head of every sequence.
func (l Linear[T]) perHead(pool *kernel.Pool, scratch []T, body func(s *pass[T])) {
	share, tasks := len(scratch)/pool.Threads()&^15, l.Batch*l.Heads
	passes := make([]*pass[T], pool.Threads())
	run := func(thread, task int) {
		if passes[thread] == nil {
			passes[thread] = newPass(l, &arena[T]{free: scratch[thread*share:][:share]})
		}
		s := passes[thread]
		s.task, s.b, s.h = task, task/l.Heads, task%l.Heads
		body(s)
	}
	if kernel.Worth[T](pool, 4*tasks*l.Tokens*l.QK*l.V) == 1 {
		for task := range tasks {
			run(0, task)
		}
		return
	}
	pool.Tasks(tasks, run)
}

// arena hands out parts of a scratch. Without a scratch it counts.
type arena[T kernel.Float] struct {
	free []T
	used int
}

// take returns n numbers, which begin a cache line away from the previous ones.
func (a *arena[T]) take(n int) []T {
	at := a.used
	if a.used += (n + 15) &^ 15; a.free == nil {
		return nil
	}
	return a.free[at:][:n:n]
}
