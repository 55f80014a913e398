package attention

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"

// backward computes the gradients. With g = Δ/Σ and e = −(Δ·y)/Σ, the error of a query's row is [g, e] over [v, 1].
// Queries take the sums over the keys before them, φ(k)ᵀ[v, 1], in forward order; keys and values take those over the
// queries after them, φ(q)ᵀ[g, e], in backward order.
func (s scan[T]) backward(dqkv, y, dy, total []T) {
	clear(s.suffixes)
	for from := 0; from < s.Tokens && !s.Causal; from += scanTokens {
		for j := s.first; j < s.last; j++ {
			c := s.load(j, from)
			s.errors(y, dy, total, from, c)
			s.addKeys(c)
			s.addQueries(c)
		}
	}
	for from := 0; from < s.Tokens; from += scanTokens {
		for j := s.first; j < s.last; j++ {
			c := s.load(j, from)
			s.errors(y, dy, total, from, c)
			s.queries(dqkv, from, c)
		}
	}
	for from := (s.Tokens - 1) / scanTokens * scanTokens; from >= 0; from -= scanTokens {
		for j := s.first; j < s.last; j++ {
			c := s.load(j, from)
			s.errors(y, dy, total, from, c)
			s.keys(dqkv, from, c)
		}
	}
}

// errors computes [g, e] of c tokens.
func (s *scan[T]) errors(y, dy, total []T, from, c int) {
	total = total[(s.b*s.Heads+s.j)*s.Tokens+from:]
	for i := range c {
		at := ((s.b*s.Tokens+from+i)*s.Heads + s.j) * s.V
		g, delta, share := s.g.Data[i*s.w:][:s.w], dy[at:][:s.V], 1/total[i]
		for j, v := range delta {
			g[j] = v * share
		}
		g[s.V] = -dot(delta, y[at:][:s.V]) * share
	}
}

// addQueries adds c queries and their errors to the suffix state.
func (s *scan[T]) addQueries(c int) { gemm.MulSerial(s.f, s.w, c, 1, s.phiQ.T(), s.g, 1, s.suffix) }

// queries computes rows of dq: dφ(q) = [g, e]·prefixᵀ + ([g, e][v, 1]ᵀ below the diagonal)·φ(k).
func (s *scan[T]) queries(dqkv []T, from, c int) {
	dq, _, _ := s.split(dqkv)
	gemm.MulSerial(c, s.f, s.w, 1, s.g, s.prefix.T(), 0, s.dphi)
	if s.Causal {
		gemm.MulSerial(c, s.f, c, 1, s.weights(c, s.g, s.values, s.w), s.phiK, 1, s.dphi)
		s.addKeys(c)
	}
	s.Phi.back(dq.From(from, 0), s.dphi.Data[:c*s.f], s.phiQ.Data[:c*s.f], s.q.From(from, 0), s.QK)
}

// keys computes rows of dk and dv: dφ(k) = [v, 1]·suffixᵀ + ([g, e][v, 1]ᵀ below the diagonal)ᵀ·φ(q) and
// [dv, ·] = φ(k)·suffix + (φ(q)φ(k)ᵀ below the diagonal)ᵀ·[g, e].
func (s *scan[T]) keys(dqkv []T, from, c int) {
	_, dk, dv := s.split(dqkv)
	gemm.MulSerial(c, s.f, s.w, 1, s.values, s.suffix.T(), 0, s.dphi)
	gemm.MulSerial(c, s.V, s.f, 1, s.phiK, s.suffix, 0, dv.From(from, 0))
	if s.Causal {
		gemm.MulSerial(c, s.f, c, 1, s.weights(c, s.g, s.values, s.w).T(), s.phiQ, 1, s.dphi)
		gemm.MulSerial(c, s.V, c, 1, s.weights(c, s.phiQ, s.phiK, s.f).T(), s.g, 1, dv.From(from, 0))
		s.addQueries(c)
	}
	s.hide(s.dphi.Data, from, from+c)
	s.Phi.back(dk.From(from, 0), s.dphi.Data[:c*s.f], s.phiK.Data[:c*s.f], s.k.From(from, 0), s.QK)
}
