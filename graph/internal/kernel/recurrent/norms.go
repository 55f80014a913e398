package recurrent

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Norms computes √ΣS², the norm of the state of every head after every token, (Batch·Tokens, Heads). It goes from token
// to token in float64. The state before the first token (Batch, Heads, QK, V) is optional, and not changed.
func (l Linear[T]) Norms(pool *kernel.Pool, norms []T, x Operands[T], state []T) {
	pool.Tasks(l.Batch*l.Heads, func(_, task int) {
		p := pass[T]{Linear: l, x: x, task: task, b: task / l.Heads, h: task % l.Heads}
		s, u := make([]float64, l.QK*l.V), make([]float64, l.V)
		if state != nil {
			for i, v := range state[task*len(s):][:len(s)] {
				s[i] = float64(v)
			}
		}
		for t := range l.Tokens {
			p.row(norms, t, 1)[0] = T(math.Sqrt(p.step(s, u, t)))
		}
	})
}

// step moves the state s of a head past token t, and returns ΣS². It overwrites u.
func (s *pass[T]) step(state, u []float64, t int) (squares float64) {
	_, k, v := s.packed(s.x.QKV, t)
	for j, v := range v {
		u[j] = float64(v)
	}
	for i, k := range k {
		row, alpha := state[i*s.V:][:s.V], s.alpha(t, i)
		for j := range row {
			row[j] *= alpha
			if s.Delta {
				u[j] -= float64(row[j] * float64(k))
			}
		}
	}
	beta := 1.0
	if s.x.Beta != nil {
		beta = float64(s.row(s.x.Beta, t, 1)[0])
	}
	for i, k := range k {
		row := state[i*s.V:][:s.V]
		for j := range row {
			row[j] += float64(float64(k) * beta * u[j])
			squares += float64(row[j] * row[j])
		}
	}
	return squares
}

// alpha returns the gate of row i of the state at token t.
func (s *pass[T]) alpha(t, i int) float64 {
	var gates []T
	switch {
	case s.Gates == 0:
		return 1
	case s.Fixed:
		gates = s.x.Gates[s.h*s.Gates:][:s.Gates]
	default:
		gates = s.row(s.x.Gates, t, s.Gates)
	}
	return elementary.Exp(float64(gates[min(i, s.Gates-1)]))
}
