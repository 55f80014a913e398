package gemm

import (
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestChunksForManyThreads: for the products of a step of GPT-2's sizes with one sequence, forward and backward, no
// thread of 16 or 64 has much less work than the others.
func TestChunksForManyThreads(t *testing.T) {
	const tokens, d, vocabulary = 256, 768, 50257
	for threads, most := range map[int]float64{16: 0.15, 64: 0.3} {
		for _, out := range []int{d, 3 * d, 4 * d, vocabulary} {
			for _, s := range [][3]int{{tokens, out, d}, {tokens, d, out}, {d, out, tokens}, {out, d, tokens}} {
				rows, cols := chunk(s[0], s[1], s[2], threads, maxRows)
				chunks := (s[0] + rows - 1) / rows * ((s[1] + cols - 1) / cols)
				turns := (chunks + threads - 1) / threads
				if idle := 1 - float64(chunks)/float64(turns*threads); idle > most {
					t.Errorf("%d threads, %v in %d chunks of %d × %d: %.0f %% idle, want at most %.0f %%", threads, s,
						chunks,
						rows, cols, 100*idle, 100*most)
				}
			}
		}
	}
}

// TestRowsFit: data that is read repeatedly fits into the second cache of the known processors, and a strip of b into
// the first.
func TestRowsFit(t *testing.T) {
	for name, c := range map[string]struct{ first, second, lanes, want int }{
		"Granite Rapids": {48 << 10, 2 << 20, 16, 384},
		"Zen 5":          {48 << 10, 1 << 20, 16, 384},
		"Zen 4":          {32 << 10, 1 << 20, 16, 384},
		"Zen 3":          {32 << 10, 512 << 10, 8, 288},
		"Haswell":        {32 << 10, 256 << 10, 8, 120},
		"Neoverse N1":    {64 << 10, 1 << 20, 4, 384},
		"unknown":        {32 << 10, 0, 4, 96},
	} {
		rows := rowsFor(c.second)
		if rows != c.want || rows%12 != 0 {
			t.Errorf("%s: got %d rows, want %d", name, rows, c.want)
		}
		strip := 4 * 2 * c.lanes * depthMax
		if strip > c.first {
			t.Errorf("%s: a strip has %d bytes, the first cache %d", name, strip, c.first)
		}
		if all := 4*rows*(depthMax+maxCols) + 2*strip; all > c.second && c.second > 0 {
			t.Errorf("%s: %d rows need %d bytes, the second cache has %d", name, rows, all, c.second)
		}
	}
}

// TestRowsFillTheCache: a second cache that holds exactly two strips and 108 rows of a and c is used in full; with a
// byte less there are 12 rows fewer.
func TestRowsFillTheCache(t *testing.T) {
	const bytes = 2*32<<10 + 108*4*(256+128)
	if full, less := rowsFor(bytes), rowsFor(bytes-1); full != 108 || less != 96 {
		t.Errorf("got %d and %d rows, want 108 and 96", full, less)
	}
}

// TestRowsShowInNoBit: the number of rows computed at a time depends on the processor, but the result does not.
func TestRowsShowInNoBit(t *testing.T) {
	const m, n, k = 3103, 37, 301
	rng := rand.New(rand.NewPCG(3, 5))
	a, b := Mat(kerneltest.Random[float32](rng, m*k), k), Mat(kerneltest.Random[float32](rng, k*n), n)
	defer func(was int) { panelRows = was }(panelRows)
	var want []float32
	for _, threads := range []int{1, 2} {
		for _, panelRows = range []int{96, 288, 384} {
			c := Mat(make([]float32, m*n), n)
			Mul(kernel.NewPool(threads), m, n, k, 1, a, b, 0, c)
			if want == nil {
				want = c.Data
			}
			if !kerneltest.SameBits(c.Data, want) {
				t.Errorf("%d threads and %d rows at a time give other bits", threads, panelRows)
			}
		}
	}
}

// TestDeepProductsReadSeldom: if a chunk's rows of a fit only into memory, they are read again for every chunk next to
// it, and so are b's columns for every chunk below: at most one in 50 of the multiplied numbers is read.
func TestDeepProductsReadSeldom(t *testing.T) {
	const threads = 2
	for _, s := range [][3]int{{256, 768, 50257}, {2048, 384, 8192}, {1024, 1024, 50257}} {
		m, n := s[0], s[1]
		rows, cols := chunk(m, n, s[2], threads, maxRows)
		down, across := (m+rows-1)/rows, (n+cols-1)/cols
		if read := m*across + n*down; 50*read > m*n || down*across < 3*threads {
			t.Errorf(
				"%v: %d × %d chunks of %d × %d read one number in %d, want 50 or more", s, down, across, rows, cols,
				m*n/read,
			)
		}
	}
}
