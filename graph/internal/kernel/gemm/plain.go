package gemm

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/fma"
)

// Products of float32 in plain Go, with the bits of the microkernels.

const (
	plainRows = 96  // of a that are multiplied at a time
	plainCols = 128 // of b
)

// plainBuffer holds the panels of a part of a and of b.
type plainBuffer struct {
	numbers [(plainRows + plainCols) * depthMax]fma.Number
	a       [plainRows / fma.Tile]fma.Panel
	b       [plainCols / fma.Tile]fma.Panel
}

var plainBuffers = sync.Pool{New: func() any { return new(plainBuffer) }}

// plainTile computes rows top … bottom and columns left … right of c. None of g's sizes is 0. If round is not nil, it
// is applied to the numbers of b.
func plainTile(g *product[float32], top, bottom, left, right int, round func(to, from []float32)) {
	g.scale(top, bottom, left, right)
	if g.m == 1 && g.b.Trans && (!g.a.Trans || g.a.Stride == 1) {
		plainDots(g, left, right)
		return
	}
	d, step := g.d, depth(g.k)
	for l := 0; l < g.k; l += step {
		k := min(step, g.k-l)
		if bottom-top == 1 && !g.b.Trans && round == nil {
			plainRow(g, d, top, l, k, left, right)
		} else {
			plainBlock(g, d, l, k, top, bottom, left, right, round)
		}
		d = g.c
	}
}

// plainBlock computes alpha·a·b + d for k products from l on.
func plainBlock(
	g *product[float32], d Matrix[float32], l, k, top, bottom, left, right int, round func(to, from []float32),
) {
	buffer := plainBuffers.Get().(*plainBuffer)
	defer plainBuffers.Put(buffer)
	for j := left; j < right; j += plainCols {
		n := min(plainCols, right-j)
		plainPack(buffer.b[:], buffer.numbers[plainRows*depthMax:], g.b.From(l, j), k, n, round)
		for i := top; i < bottom; i += plainRows {
			m := min(plainRows, bottom-i)
			plainPack(buffer.a[:], buffer.numbers[:plainRows*depthMax], g.a.From(i, l).T(), k, m, nil)
			for y := 0; y < m; y += fma.Tile {
				for x := 0; x < n; x += fma.Tile {
					var sums [fma.Tile][fma.Tile]float32
					fma.Product(&sums, &buffer.a[y/fma.Tile], &buffer.b[x/fma.Tile])
					for r, row := range sums[:min(fma.Tile, m-y)] {
						finish(g, d, i+y+r, j+x, row[:min(fma.Tile, n-x)])
					}
				}
			}
		}
	}
}

// plainPack copies k rows and n columns of b to panels, filled up with zeros. If round is not nil, it is applied to the
// numbers.
func plainPack(
	panels []fma.Panel, numbers []fma.Number, b Matrix[float32], k, n int, round func(to, from []float32),
) {
	column := plainColumns.Get().(*[depthMax * fma.Tile]float32)
	defer plainColumns.Put(column)
	for i := range parts(n, fma.Tile) {
		panels[i] = fma.NewPanel(numbers[i*fma.Tile*depthMax:][:fma.Tile*depthMax])
		cols, rows := min(fma.Tile, n-i*fma.Tile), column[:k*fma.Tile]
		clear(rows)
		for l := range k {
			for j := range cols {
				at := l*b.Stride + i*fma.Tile + j
				if b.Trans {
					at = (i*fma.Tile+j)*b.Stride + l
				}
				rows[l*fma.Tile+j] = b.Data[at]
			}
		}
		if round != nil {
			round(rows, rows)
		}
		for l := range k {
			panels[i].Append((*[fma.Tile]float32)(rows[l*fma.Tile:]))
		}
	}
}

// plainColumns hold the columns of a panel while it is packed.
var plainColumns = sync.Pool{New: func() any { return new([depthMax * fma.Tile]float32) }}

// finish stores the sums times alpha, plus d, in row i of c, from column j on.
func finish(g *product[float32], d Matrix[float32], i, j int, sums []float32) {
	c := g.c.Data[i*g.c.Stride+j:][:len(sums)]
	for x, sum := range sums {
		sum = float32(sum * g.alpha)
		if d.Data != nil {
			sum += d.Data[i*d.Stride+j+x]
		}
		c[x] = sum
	}
}

// plainRow is plainBlock for a single row.
func plainRow(g *product[float32], d Matrix[float32], i, l, k, left, right int) {
	a := g.a.From(i, l)
	apart := 1
	if a.Trans {
		apart = a.Stride
	}
	for j := left; j < right; j += fma.Block {
		var sums, row [fma.Block]float32
		n := min(fma.Block, right-j)
		for x := range k {
			b := g.b.Data[(l+x)*g.b.Stride+j:]
			y := &row
			if n == fma.Block {
				y = (*[fma.Block]float32)(b)
			} else {
				copy(row[:n], b)
			}
			fma.Scaled(&sums, a.Data[x*apart], y)
		}
		finish(g, d, i, j, sums[:n])
	}
}

// plainDots computes the products of the only row of a with columns of b that are stored as rows. A sum has 16 parts:
// part i has the terms i, i+16, …; halves are added to halves until one number is left.
func plainDots(g *product[float32], left, right int) {
	a := g.a.Data
	for j := left; j < right; j++ {
		b := g.b.Data[j*g.b.Stride:]
		var sums [fma.Block]float32
		l := 0
		for ; l+fma.Block <= g.k; l += fma.Block {
			fma.Lanes(&sums, (*[fma.Block]float32)(a[l:]), (*[fma.Block]float32)(b[l:]), &sums)
		}
		if l < g.k {
			var x, y [fma.Block]float32
			copy(x[:], a[l:g.k])
			copy(y[:], b[l:g.k])
			fma.Lanes(&sums, &x, &y, &sums)
		}
		for half := fma.Block / 2; half > 2; half /= 2 {
			for i := range half {
				sums[i] += sums[i+half]
			}
		}
		sum := (sums[0] + sums[1]) + (sums[2] + sums[3])
		finish(g, g.d, 0, j, []float32{sum})
	}
}
