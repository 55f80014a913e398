package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// scores computes q·kᵀ/√QK for queries from … to and keys a … z into the tile, and returns what of the mask is to be
// added: nothing if that would change nothing.
func (s *head[T]) scores(from, to, a, z int, tile []T) (x, mask gemm.Matrix[T]) {
	x = gemm.Mat(tile[:(to-from)*(z-a)], z-a)
	s.products.MulSerial(to-from, z-a, s.QK, s.scale, s.q.From(from, 0), s.k.From(a, 0).T(), 0, x)
	for _, q := range s.lane.queries[from:to] {
		switch {
		case q.from <= a && q.to >= z && q.plain:
		case s.lane.k.step > 1:
			return x, s.laneMask(from, to, a, z)
		default:
			return x, gemm.Mat(s.mask[s.maskAt(from, a):s.maskAt(to-1, z)], s.all.Keys)
		}
	}
	return x, mask
}

// laneMask puts what of the mask a lane has side by side. Where all that is visible is 0 and in the span, this says so.
func (s *head[T]) laneMask(from, to, a, z int) gemm.Matrix[T] {
	m, hidden := gemm.Mat(s.borrow().tile[:(to-from)*(z-a)], z-a), T(math.Inf(-1))
	for i, q := range s.lane.queries[from:to] {
		known := q.plain && len(s.lane.outside[from+i]) == 0
		for j := range z - a {
			switch at := i*m.Stride + j; {
			case !known:
				m.Data[at] = s.mask[s.maskAt(from+i, s.lane.k.at(a+j))]
			case q.has(a + j):
				m.Data[at] = 0
			default:
				m.Data[at] = hidden
			}
		}
	}
	return m
}

// dropTile applies dropout to a tile that begins with query from and key a.
func (s *head[T]) dropTile(x gemm.Matrix[T], from, a int) {
	if s.drop.P == 0 {
		return
	}
	step := s.lane.k.step
	for i := 0; i*x.Stride < len(x.Data); i++ {
		row, at := x.Data[i*x.Stride:(i+1)*x.Stride], s.dropAt(from+i, s.lane.k.at(a))
		if step == 1 {
			kernel.DropEntries(row, row, s.drop, at)
			continue
		}
		for j := range row {
			kernel.DropEntries(row[j:j+1], row[j:j+1], s.drop, at+j*step)
		}
	}
}

func clearRows[T kernel.Float](m gemm.Matrix[T], rows, cols int) {
	for i := range rows {
		clear(m.Data[i*m.Stride:][:cols])
	}
}
