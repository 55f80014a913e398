package attention

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// Attention that forgets (Lin et al. 2025) adds c_i − c_j to the score of query i and key j, where c_i = Σ_{l≤i} ln f_l
// is a running sum of the logarithms of a head's gates f. A softmax cancels what all scores of a query have in common,
// so the gradient of c_j is only the sum of −ΔS over a key's column.

// Cumulate computes the running sums c (Batch, Heads, Queries) of x (Batch·Queries, Heads), each in float64.
func Cumulate[T kernel.Float](pool *kernel.Pool, h Shape, c, x []T) {
	pool.Tasks(h.Batch*h.Heads, func(_, task int) {
		b, j, sum := task/h.Heads, task%h.Heads, 0.0
		for i := range h.Queries {
			sum += float64(x[(b*h.Queries+i)*h.Heads+j])
			c[task*h.Queries+i] = T(sum)
		}
	})
}

// CumulateBackward computes dx_l = Σ_{i≥l} dc_i, the gradient of Cumulate.
func CumulateBackward[T kernel.Float](pool *kernel.Pool, h Shape, dx, dc []T) {
	pool.Tasks(h.Batch*h.Heads, func(_, task int) {
		b, j, sum := task/h.Heads, task%h.Heads, 0.0
		for i := h.Queries - 1; i >= 0; i-- {
			sum += float64(dc[task*h.Queries+i])
			dx[(b*h.Queries+i)*h.Heads+j] = T(sum)
		}
	})
}

// sums holds the two factors of c_i − c_j in a tile: [1, c_i − c] for every query and [c − c_j; 1] for every key, where
// c is the first query's, so that near ones differ by exact numbers.
type sums[T kernel.Float] struct{ queries, keys []T }

func newSums[T kernel.Float]() sums[T] {
	return sums[T]{
		make([]T, 2*max(forwardQueries, backwardQueries, restRows)),
		make([]T, 2*max(forwardKeys, backwardKeys, restKeys)),
	}
}

// keyAt returns the index of key j of a tile: one of the scattered keys or, without these, of the lane from a on.
func (s *head[T]) keyAt(scattered []seen, a, j int) int {
	if scattered != nil {
		return int(scattered[j].key)
	}
	return s.lane.k.at(a + j)
}

// forget adds c_i − c_j to a tile of scores that begins at query first and key a, or has the scattered keys.
func (s *head[T]) forget(x gemm.Matrix[T], first, a int, scattered []seen) {
	if s.decay == nil {
		return
	}
	f, rows, cols := s.borrow().sums, len(x.Data)/x.Stride, x.Stride
	base := s.decay[s.lane.q.at(first)]
	for i := range rows {
		f.queries[2*i], f.queries[2*i+1] = 1, s.decay[s.lane.q.at(first+i)]-base
	}
	for j := range cols {
		f.keys[j], f.keys[cols+j] = base-s.decay[s.keyAt(scattered, a, j)], 1
	}
	gemm.MulSerial(rows, cols, 2, 1, gemm.Mat(f.queries, 2), gemm.Mat(f.keys, cols), 1, x)
}

// forgetBackward subtracts the sums of the columns of ΔS from the gradient of c. forget has set the column of ones.
func (s *head[T]) forgetBackward(d *gradients[T], ds gemm.Matrix[T], a int, scattered []seen) {
	if s.decay == nil {
		return
	}
	f, rows, cols := s.borrow().sums, len(ds.Data)/ds.Stride, ds.Stride
	gemm.MulSerial(1, cols, rows, 1, gemm.Mat(f.queries, 2).T(), ds, 0, gemm.Mat(f.keys, cols))
	for j, sum := range f.keys[:cols] {
		d.decay[s.keyAt(scattered, a, j)] -= sum
	}
}
