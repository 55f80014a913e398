package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// backward computes the gradients, from the last chunk to the first. With S₀ the state before the chunk, S that after
// it, R the gradient of S, and Δ the gradient of Y,
//
//	ΔU = aᵀ·Δ + (K∘α_{i+1…c})·R,  Δa = Δ·Uᵀ,  ΔV = Diag(β)·(I + Diag(β)·n)⁻ᵀ·ΔU,  Δn = −ΔV·Uᵀ
//	ΔQ = (Δ·S₀ᵀ)∘α_{1…i} + that of a,  ΔK = (U·Rᵀ)∘α_{i+1…c} + those of a and n − (ΔV·S₀ᵀ)∘α_{1…i}
//	R ← Diag(α_{1…c})·R + (Q∘α_{1…i})ᵀ·Δ − (K∘α_{1…i})ᵀ·ΔV
//
// where n and the terms with ΔV·S₀ᵀ exist only if Delta. A gate multiplies what was written before its token and is
// read from there on: with r for what is read (q, and k if Delta), log α_t has the gradient
//
//	Σ_{i≥t} (r_i∘Δr_i − k_i∘Δk_i) + rows of S∘R
//
// over the tokens of the chunk, where Δk is the gradient of writing.
func (s *pass[T]) backward(d Operands[T], dy, kept []T) {
	clear(s.dstate)
	clear(s.last)
	for from := (s.chunks() - 1) * chunkTokens; from >= 0; from -= chunkTokens {
		s.load(from)
		copy(s.state, s.keptState(kept))
		s.begins()
		s.ended = from+s.c == s.Tokens
		if s.Delta {
			copy(s.w, s.keptW(kept))
			s.byBeta(s.u, s.w)
		} else {
			s.written()
		}
		for i := range s.c {
			copy(s.dy[i*s.V:], s.row(dy, i, s.V))
		}
		s.reads()
		s.solved(d)
		s.gates(d.Gates)
		s.store(d.QKV)
		if from > 0 {
			s.before()
		}
	}
}

// reads computes du, without the part of the triangular system, dq, and dk.
func (s *pass[T]) reads() {
	s.scores()
	upperMul(s.c, s.V, s.pairs(s.a), s.values(s.dy), 0, s.values(s.du))
	clear(s.dk[:s.c*s.QK])
	if !s.ended {
		s.decay.end(s.scaled, s.k)
		gemm.MulSerial(s.c, s.V, s.QK, 1, s.keys(s.scaled), s.values(s.dstate), 1, s.values(s.du))
		gemm.MulSerial(s.c, s.QK, s.V, 1, s.values(s.u), s.values(s.dstate).T(), 0, s.keys(s.dk))
		s.decay.end(s.dk, s.dk)
	}
	clear(s.dq[:s.c*s.QK])
	if !s.fresh {
		gemm.MulSerial(s.c, s.QK, s.V, 1, s.values(s.dy), s.values(s.state).T(), 0, s.keys(s.dq))
		s.decay.begin(s.dq, s.dq)
	}
	lowerPairs(s.c, s.V, 1, s.values(s.dy), s.values(s.u), s.pairs(s.a))
	for i := range s.c {
		s.diagonal[i] = s.a[i*s.c+i]
	}
	s.decay.scoresBackward(s.dq, s.dk, s.a, s.q, s.k)
}

// solved turns du into the gradient of the values, writes the gradient of β, and computes dkr.
func (s *pass[T]) solved(d Operands[T]) {
	read := s.v
	if s.Delta {
		read = s.w
		s.decay.scores(s.n, s.k, s.k)
		if s.x.Beta != nil {
			kernel.ScaleRows(s.n, s.beta[:s.c], s.c, s.c)
		}
		solveT(s.du, s.n, s.c, s.V, 0, s.c)
	}
	if d.Beta != nil {
		dots := s.dots[:s.c]
		kernel.DotRows(dots, s.du, read, s.V, s.V)
		for i, v := range dots {
			s.row(d.Beta, i, 1)[0] = v
		}
	}
	s.byBeta(s.du, s.du)
	if !s.Delta {
		return
	}
	if s.fresh {
		clear(s.dkr[:s.c*s.QK])
	} else {
		gemm.MulSerial(s.c, s.QK, s.V, -1, s.values(s.du), s.values(s.state).T(), 0, s.keys(s.dkr))
		s.decay.begin(s.dkr, s.dkr)
	}
	lowerPairs(s.c, s.V, -1, s.values(s.du), s.values(s.u), s.pairs(s.n))
	s.decay.scoresBackward(s.dkr, s.dk, s.n, s.k, s.k)
}

// gates writes the gradients of the logarithms of the gates.
func (s *pass[T]) gates(d []T) {
	if d == nil {
		return
	}
	if s.Gates == 1 {
		s.gate(d)
		return
	}
	n := s.c * s.QK
	reach := s.scaled[:n] // q∘dq + k∘(dkr − dk)
	kernel.Mul(reach, s.k[:n], s.dk[:n])
	kernel.ScaleRows(reach, s.minus, n, n)
	kernel.MulAdd(reach, s.q[:n], s.dq[:n])
	if s.Delta {
		kernel.MulAdd(reach, s.k[:n], s.dkr[:n])
	}
	for i := s.c - 1; i >= 0; i-- {
		s.add(s.last, reach[i*s.QK:][:s.QK])
		copy(s.row(d, i, s.Gates), s.last)
	}
}

// add computes y = y + x for the first entries of x.
func (s *pass[T]) add(y, x []T) { kernel.MulAddRows(y, x, s.one, len(y), len(y)) }

// gate is gates for one gate per head.
func (s *pass[T]) gate(d []T) {
	dots, written, read := s.dots[:s.c], s.dotsW[:s.c], s.dotsR[:s.c]
	kernel.DotRows(dots, s.q, s.dq, s.QK, s.QK)
	kernel.DotRows(written, s.k, s.dk, s.QK, s.QK)
	if s.Delta {
		kernel.DotRows(read, s.k, s.dkr, s.QK, s.QK)
	} else {
		clear(read)
	}
	sum := T(0)
	for _, v := range s.last {
		sum += v
	}
	for i := s.c - 1; i >= 0; i-- {
		sum += dots[i] + read[i] - written[i]
		s.row(d, i, 1)[0] = sum
	}
}

// store writes the gradients of queries, keys and values, with the gradients of q_i·k_i.
func (s *pass[T]) store(d []T) {
	if s.Delta {
		s.add(s.dk[:s.c*s.QK], s.dkr)
	}
	kernel.MulAddRows(s.dq, s.k, s.diagonal[:s.c], s.QK, s.QK)
	kernel.MulAddRows(s.dk, s.q, s.diagonal[:s.c], s.QK, s.QK)
	for i := range s.c {
		dq, dk, dv := s.packed(d, i)
		copy(dq, s.dq[i*s.QK:])
		copy(dk, s.dk[i*s.QK:])
		copy(dv, s.du[i*s.V:])
	}
}

// before turns the gradient of the state after the chunk into the gradient of the state before it.
func (s *pass[T]) before() {
	if !s.ended {
		s.decay.all(s.dstate, s.V)
	}
	s.decay.begin(s.scaled, s.q)
	gemm.MulSerial(s.QK, s.V, s.c, 1, s.keys(s.scaled).T(), s.values(s.dy), 1, s.values(s.dstate))
	if s.Delta {
		s.decay.begin(s.scaled, s.k)
		gemm.MulSerial(s.QK, s.V, s.c, -1, s.keys(s.scaled).T(), s.values(s.du), 1, s.values(s.dstate))
	}
	if s.Gates > 0 {
		kernel.DotRows(s.last, s.state, s.dstate, s.V, s.V)
	}
}
