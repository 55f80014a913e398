package attention

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"

// forward computes φ(q)·prefix + (φ(q)φ(k)ᵀ below the diagonal)·[v, 1] chunk by chunk.
func (s scan[T]) forward(y, total []T) {
	for from := 0; from < s.Tokens && !s.Causal; from += scanTokens {
		for j := s.first; j < s.last; j++ {
			s.addKeys(s.load(j, from))
		}
	}
	for from := 0; from < s.Tokens; from += scanTokens {
		for j := s.first; j < s.last; j++ {
			c := s.load(j, from)
			gemm.MulSerial(c, s.w, s.f, 1, s.phiQ, s.prefix, 0, s.out)
			if s.Causal {
				gemm.MulSerial(c, s.w, c, 1, s.weights(c, s.phiQ, s.phiK, s.f), s.values, 1, s.out)
				s.addKeys(c)
			}
			s.divide(y, total, from, c)
		}
	}
}

// divide writes c rows of the result and the sums of their weights.
func (s *scan[T]) divide(y, total []T, from, c int) {
	total = total[(s.b*s.Heads+s.j)*s.Tokens+from:]
	for i := range c {
		row := s.out.Data[i*s.w:][:s.w]
		sum := row[s.V]
		total[i] = sum
		out := y[((s.b*s.Tokens+from+i)*s.Heads+s.j)*s.V:][:s.V]
		for j, v := range row[:s.V] {
			out[j] = v / sum
		}
	}
}

// addKeys adds c keys and values to the prefix state.
func (s *scan[T]) addKeys(c int) { gemm.MulSerial(s.f, s.w, c, 1, s.phiK.T(), s.values, 1, s.prefix) }

// weights is x·yᵀ of the first c rows, 0 above the diagonal.
func (s *scan[T]) weights(c int, x, y gemm.Matrix[T], k int) gemm.Matrix[T] {
	a := gemm.Mat(s.a.Data[:c*c], c)
	gemm.MulSerial(c, c, k, 1, x, y.T(), 0, a)
	for i := range c {
		clear(a.Data[i*c+i+1 : (i+1)*c])
	}
	return a
}
