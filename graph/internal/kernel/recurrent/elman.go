// Package recurrent implements layers that process one token after the other.
package recurrent

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Elman runs the recurrence h_t = tanh(h_{t−1}·w + a_t) over batch sequences: a and h (batch·n, d), with contiguous
// sequences, w (d, d). Before t = 0, h is first (batch, d), or 0 if first is nil. All sequences take a step together.
func Elman[T kernel.Float](p *kernel.Pool, h, a, w, first []T, batch, d int) {
	n := len(h) / (batch * d)
	for t := range n {
		before := gemm.Mat(first, d)
		if t > 0 {
			before = at(h, t-1, n, d)
		}
		if before.Data == nil {
			for b := range batch {
				copy(h[b*n*d:][:d], a[b*n*d:])
			}
		} else {
			gemm.MulAdd(p, batch, d, d, 1, before, gemm.Mat(w, d), at(a, t, n, d), at(h, t, n, d))
		}
		for b := range batch {
			row := h[(b*n+t)*d:][:d]
			for j, v := range row {
				row[j] = kernel.Tanh(v)
			}
		}
	}
}

// at returns the rows of x at time t: (batch, d), n·d numbers apart.
func at[T kernel.Float](x []T, t, n, d int) gemm.Matrix[T] {
	return gemm.Matrix[T]{Data: x[t*d:], Stride: n * d}
}

// ElmanBackward goes back through time: da_t = (dh_t + da_{t+1}·wᵀ)∘(1 − h_t²), from the last t to the first, and dw =
// Σ h_{t−1}ᵀ·da_t over the sequences and t > 0. dw is optional.
func ElmanBackward[T kernel.Float](p *kernel.Pool, da, dw, h, w, dh []T, batch, d int) {
	n := len(h) / (batch * d)
	for t := n - 1; t >= 0; t-- {
		if t < n-1 {
			gemm.MulAdd(p, batch, d, d, 1, at(da, t+1, n, d), gemm.Mat(w, d).T(), at(dh, t, n, d), at(da, t, n, d))
		}
		for b := range batch {
			i := (b*n + t) * d
			row, delta := da[i:i+d], da[i:i+d]
			if t == n-1 {
				delta = dh[i : i+d]
			}
			for j, y := range h[i : i+d] {
				row[j] = delta[j] * (1 - T(y*y))
			}
		}
	}
	if dw == nil {
		return
	}
	clear(dw)
	for b := range batch {
		before, after := h[b*n*d:(b*n+n-1)*d], da[(b*n+1)*d:(b+1)*n*d]
		gemm.Mul(p, d, d, n-1, 1, gemm.Mat(before, d).T(), gemm.Mat(after, d), 1, gemm.Mat(dw, d))
	}
}
