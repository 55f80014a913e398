//go:build (amd64 || arm64) && !nosimd

package quant

import "github.com/pedestrian-ml/pedestrian/internal/blocks"

// The sizes of a tile of floats: rows of the matrix, and vectors.
const (
	tileRows    = 6
	tileVectors = 8
	apart       = 64 // bytes between rows that are copied
)

// The sizes of the products with panels of 16 rows.
const (
	wideRows  = 2 * wholeRows
	wideBlock = 2 * panelBlock
)

// tiled reports whether m vectors of k numbers are multiplied by rows of floats in tiles. Fewer vectors than two tiles
// are not worth the conversion of rows.
func tiled(of blocks.Type, m, k int) bool {
	least := tileVectors
	if of == blocks.BF16 {
		least = 2 * tileVectors
	}
	return (of == blocks.F32 || of == blocks.BF16) && best != nil && best.tile != nil && m >= least && k%8 == 0
}

// wide reports whether rows of blocks of whole numbers are multiplied 16 at a time.
func wide() bool { return best.q8.wideFours != nil }

// Do copies some groups of vectors for tiles.
func (t *turning) Do(from, to int) {
	for v := from * tileVectors; v < to*tileVectors; v++ {
		at := v/tileVectors*tileVectors*t.k + 8*(v%tileVectors)
		x := t.x[v*t.k:][:t.k]
		_ = t.to[at+(t.k/8-1)*8*tileVectors:][:8]
		best.eights(&t.to[at], &x[0], t.k/8, 8*tileVectors)
	}
}

// tiles computes the outputs of some rows of floats for the vectors in complete tiles, and returns their number.
func (t *task) tiles(s *scratch, part *Part, data []byte, outputs []int) (done int) {
	_, size := floatSet(part.Type)
	n, k := len(outputs), t.w.K
	_ = data[:n*k*size]
	stride := 4 * k
	if size == 2 {
		stride += apart // rows of 4 KiB would evict one another
		s.rows = grown(s.rows, (n+tileRows)*stride)
		for r := range n {
			best.widen(&s.rows[r*stride], &data[r*k*size], k/8)
		}
		data = s.rows
	}
	last := n / tileRows * tileRows
	rest := data[last*stride:]
	if size == 4 && last < n {
		s.rows = grown(s.rows, tileRows*stride)
		copy(s.rows, rest[:(n-last)*stride])
		rest = s.rows
	}
	if last < n {
		clear(rest[(n-last)*stride : tileRows*stride])
	}
	s.y, s.bias = grown(s.y, tileRows*tileVectors), t.biases(s.bias, outputs, 8)
	groups := t.m / tileVectors
	_ = t.turned[:groups*tileVectors*k]
	for g := range groups {
		a := &t.turned[g*tileVectors*k]
		for i := 0; i < n; i += tileRows {
			part, from, d := outputs[i:min(n, i+tileRows)], rest, &s.bias[i]
			if i < last {
				from = data[i*stride:]
			}
			w := &from[0]
			if y, ok := t.place(g*tileVectors, tileVectors, part); ok {
				best.tile(y, w, a, d, k/8, stride, len(part), t.w.N)
				continue
			}
			best.tile(&s.y[0], w, a, d, k/8, stride, len(part), tileRows)
			t.scatter(s.y, g*tileVectors, tileVectors, tileRows, part)
		}
	}
	return groups * tileVectors
}

// wides computes the outputs of some rows of blocks of whole numbers, as many as complete panels of 16 hold, for the
// vectors that are in fours. It returns the number of these rows.
func (t *task) wides(s *scratch, part *Part, data []byte, outputs []int) (done int) {
	set := wholeSet(part.Type)
	_, size := part.Type.Block()
	k := t.w.K / 32
	stride := size * k
	s.panel = grown(s.panel, k*wideBlock)
	s.y, s.bias = grown(s.y, 4*wideRows), t.biases(s.bias, outputs, 0)
	for ; done+wideRows <= len(outputs); done += wideRows {
		_ = data[:(done+wideRows)*stride]
		for half := range 2 {
			set.widePanel(&s.panel[32*half], &data[(done+wholeRows*half)*stride], k, stride)
		}
		part, d := outputs[done:done+wideRows], &s.bias[done]
		for g := range t.rounded.fours {
			v, m := &t.rounded.fours[g], min(4, t.m-4*g)
			if y, ok := t.place(4*g, 4, part); ok {
				set.wideFours(y, &s.panel[0], &v.n[0], &v.scales[0], &v.offsets[0], d, k, t.w.N)
				continue
			}
			set.wideFours(&s.y[0], &s.panel[0], &v.n[0], &v.scales[0], &v.offsets[0], d, k, wideRows)
			t.scatter(s.y, 4*g, m, wideRows, part)
		}
	}
	return done
}

// place returns the address of the first output of vector v, if the outputs are next to each other and m vectors from v
// on have them.
func (t *task) place(v, m int, outputs []int) (y *float32, ok bool) {
	if v+m > t.m || !consecutive(outputs) {
		return nil, false
	}
	_ = t.y[(v+m-1)*t.w.N+outputs[len(outputs)-1]]
	return &t.y[v*t.w.N+outputs[0]], true
}

// scatter stores y, in rows that are apart, as the outputs of m vectors from v on.
func (t *task) scatter(y []float32, v, m, apart int, outputs []int) {
	for i := range m {
		from, to := y[i*apart:][:len(outputs)], t.y[(v+i)*t.w.N:][:t.w.N]
		for j, out := range outputs {
			to[out] = from[j]
		}
	}
}
