package attention

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// scores computes q·kᵀ/√QK for queries from … to and keys a … z into the tile, capped, and the slope of the cap, and
// adds c_i − c_j if the head forgets. It also returns the part of the mask to add, which is empty if it would change
// nothing.
func (s *head[T]) scores(from, to, a, z int, tile, slope []T) (x, mask gemm.Matrix[T]) {
	x = gemm.Mat(tile[:(to-from)*(z-a)], z-a)
	s.products.MulSerial(to-from, z-a, s.QK, s.scale, s.q.From(from, 0), s.k.From(a, 0).T(), 0, x)
	s.capScores(x.Data, slope)
	s.forget(x, from, a, nil)
	for _, q := range s.lane.queries[from:to] {
		switch {
		case q.from <= a && q.to >= z && q.plain:
		case s.lane.k.step > 1 || s.mask.Rule != nil:
			return x, s.tileMask(from, to, a, z)
		default:
			n := s.all.Keys
			return x, gemm.Mat(s.mask.Data[(s.mask.first+from)*n+a:(s.mask.first+to-1)*n+z], n)
		}
	}
	return x, mask
}

// tileMask copies the lane's part of the mask to adjacent memory. If the mask is 0 at all visible keys, it builds the
// copy from the spans instead, because reading the mask from distant memory, or computing it, takes as long as a
// product.
func (s *head[T]) tileMask(from, to, a, z int) gemm.Matrix[T] {
	m, hidden, biased := gemm.Mat(s.borrow().tile[:(to-from)*(z-a)], z-a), T(math.Inf(-1)), s.spans.biased
	for i, q := range s.lane.queries[from:to] {
		row, outside := m.Data[i*m.Stride:(i+1)*m.Stride], s.lane.outside[from+i]
		if !q.plain || biased && len(outside) > 0 {
			s.maskPart(from+i, a, row)
			continue
		}
		for j := range row {
			row[j] = hidden
		}
		if first, end := max(a, q.from), min(z, q.to); first < end {
			clear(row[first-a : end-a])
		}
		for _, key := range outside {
			if at, own := s.lane.place(key); own && at >= a && at < z {
				row[at-a] = 0
			}
		}
	}
	return m
}

// maskPart writes the mask of a query of the lane at the lane's keys from number a on.
func (s *head[T]) maskPart(query, a int, into []T) {
	row, k := s.lane.q.at(query), s.lane.k
	if k.step == 1 {
		s.mask.part(row, s.all.Keys, k.at(a), into)
		return
	}
	for j := range into {
		s.mask.part(row, s.all.Keys, k.at(a+j), into[j:j+1])
	}
}

// dropTile applies dropout to a tile that begins at query from and key a.
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
