package quant

import (
	"encoding/binary"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/fma"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

// Products in plain Go, with the bits of assembly.

// eight is the number of lanes of a sum of floats.
const eight = 8

// dotPlain returns Σ over the blocks of d·scale·Σ n·x.
func dotPlain(of blocks.Type, row []byte, v *vectors) (sum float32) {
	_, size := of.Block()
	for b, scale := range v.scales {
		block, x, whole := row[b*size:][:size], v.n[32*b:][:32], int32(0)
		if of == blocks.Q8_0 {
			for i, x := range x {
				whole += int32(int8(block[2+i])) * int32(x)
			}
		} else {
			for i, n := range block[2:18] {
				whole += (int32(n&15)-8)*int32(x[i]) + (int32(n>>4)-8)*int32(x[i+16])
			}
		}
		scale *= blocks.Half(binary.LittleEndian.Uint16(block))
		sum = fma.Float32(scale, float32(whole), sum)
	}
	return sum
}

// plain is memory for products of floats in plain Go.
type plain struct {
	w, x    []float32    // rows of the matrix, and a vector, whose numbers are repeated
	numbers []fma.Number // of panels
	panels  []fma.Panel  // of the lanes of four vectors, and then of the rows, in fours
}

// lanes sets y to the products of n rows with m vectors, without the numbers that are left of eights.
func (s *plain) lanes(y, x []float32, of blocks.Type, data []byte, m, n, k int) {
	s.w = grown(s.w, (n+fma.Tile)*k)
	if err := of.Decode(s.w[:n*k], data); err != nil {
		panic(err) // New has checked the sizes
	}
	clear(s.w[n*k:])
	v := 0
	if m >= fma.Tile {
		v = s.fours(y, x, m, n, k)
	}
	for ; v < m; v++ {
		s.single(y[v*n:][:n], x[v*k:][:k])
	}
}

// single sets y to the products of rows with a vector, two rows at a time.
func (s *plain) single(y, x []float32) {
	k := len(x)
	s.x = grown(s.x, 2*k)
	for i := 0; i+eight <= k; i += eight {
		copy(s.x[2*i:], x[i:i+eight])
		copy(s.x[2*i+eight:], x[i:i+eight])
	}
	for r := 0; r < len(y); r += 2 {
		var sums, w [fma.Block]float32
		for i := 0; i+eight <= k; i += eight {
			*(*[eight]float32)(w[:]) = [eight]float32(s.w[r*k+i:])
			*(*[eight]float32)(w[eight:]) = [eight]float32(s.w[(r+1)*k+i:])
			fma.Lanes(&sums, (*[fma.Block]float32)(s.x[2*i:]), &w, &sums)
		}
		for i := r; i < min(len(y), r+2); i++ {
			y[i] = fold((*[eight]float32)(sums[(i-r)*eight:]))
		}
	}
}

// fold returns the sum of the lanes.
func fold(l *[eight]float32) float32 {
	return l[0] + l[4] + (l[2] + l[6]) + (l[1] + l[5] + (l[3] + l[7]))
}

// fours sets y to the products of rows with as many of m vectors as are in complete fours, and returns their number.
func (s *plain) fours(y, x []float32, m, n, k int) (done int) {
	groups, size := (n+fma.Tile-1)/fma.Tile, fma.Tile*(k/eight)
	s.numbers, s.panels = grown(s.numbers, (groups+1)*eight*size), grown(s.panels, (groups+1)*eight)
	pack := func(at int, from []float32) {
		for j := range eight {
			place := at*eight + j
			s.panels[place] = fma.NewPanel(s.numbers[place*size:][:size])
			for i := j; i < k&^7; i += eight {
				s.panels[place].Append(&[fma.Tile]float32{from[i], from[k+i], from[2*k+i], from[3*k+i]})
			}
		}
	}
	for g := range groups {
		pack(1+g, s.w[g*fma.Tile*k:])
	}
	for ; done+fma.Tile <= m; done += fma.Tile {
		pack(0, x[done*k:])
		for g := range groups {
			var lanes [eight][fma.Tile][fma.Tile]float32
			for j := range lanes {
				fma.Product(&lanes[j], &s.panels[j], &s.panels[(1+g)*eight+j])
			}
			for v := range fma.Tile {
				for r := range min(fma.Tile, n-g*fma.Tile) {
					var sum [eight]float32
					for j := range sum {
						sum[j] = lanes[j][v][r]
					}
					y[(done+v)*n+g*fma.Tile+r] = fold(&sum)
				}
			}
		}
	}
	return done
}
