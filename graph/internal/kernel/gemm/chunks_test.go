package gemm

import (
	"math/rand/v2"
	"os"
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
				rows, cols := cut{rows: maxRows}.chunk(s[0], s[1], s[2], threads, false)
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
	for name, c := range map[string]struct {
		first, second, lanes, want int
		far                        bool
	}{
		"Granite Rapids": {48 << 10, 2 << 20, 16, 384, true},
		"Zen 5":          {48 << 10, 1 << 20, 16, 384, false},
		"Zen 4":          {32 << 10, 1 << 20, 16, 384, false},
		"Zen 3":          {32 << 10, 512 << 10, 8, 288, false},
		"Haswell":        {32 << 10, 256 << 10, 8, 120, false},
		"Neoverse N1":    {64 << 10, 1 << 20, 4, 384, false},
		"unknown":        {32 << 10, 0, 4, 96, false},
	} {
		cut := cutsFor(c.second, 1)
		rows := cut.rows
		if rows != c.want || rows%12 != 0 || cut.far != c.far {
			t.Errorf("%s: got %v, want %d rows and far: %v", name, cut, c.want, c.far)
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
	if full, less := cutsFor(2*bytes, 2).rows, cutsFor(bytes-1, 1).rows; full != 108 || less != 96 {
		t.Errorf("got %d and %d rows, want 108 and 96", full, less)
	}
}

// TestCutsShowInNoBit: how products are cut depends on the processor, but the result does not. The sizes are such that
// a transposed a is copied or not, in several blocks of rows and of k. By day plain Go computes the smaller products.
func TestCutsShowInNoBit(t *testing.T) {
	for _, s := range []struct{ m, n, k, apart int }{
		{3103, 37, 301, 3103}, {811, 397, 263, 817}, {1019, 131, 523, 1024}, {97, 513, 770, 2048}, {13, 385, 31, 1024},
	} {
		rng := rand.New(rand.NewPCG(3, 5))
		columns := Matrix[float32]{kerneltest.Random[float32](rng, s.k*s.apart), s.apart, true}
		rows := Mat(make([]float32, s.m*s.k), s.k)
		for i := range s.m {
			for l := range s.k {
				rows.Data[i*s.k+l] = columns.Data[l*s.apart+i]
			}
		}
		b, d := Mat(kerneltest.Random[float32](rng, s.k*s.n), s.n), Mat(kerneltest.Random[float32](rng, s.m*s.n), s.n)
		want := map[string][]float32{}
		eachCut(func(set string, p *kernel.Pool) {
			if set == "Go" && os.Getenv("NIGHTLY") == "" && s.m*s.n*s.k > 40_000_000 {
				return
			}
			for form, a := range map[string]Matrix[float32]{"rows": rows, "columns": columns} {
				key := "assembly"
				if set == "Go" {
					key = form
				}
				c := Mat(make([]float32, s.m*s.n), s.n)
				MulAdd(p, s.m, s.n, s.k, 0.7, a, b, d, c)
				if want[key] == nil {
					want[key] = c.Data
				}
				if !kerneltest.SameBits(c.Data, want[key]) {
					t.Errorf("%s, %d threads, a by %s, %v, %v: other bits", set, p.Threads(), form, cuts, s)
				}
			}
		})
	}
}

// eachCut calls body with every instruction set, number of threads and cut.
func eachCut(body func(set string, p *kernel.Pool)) {
	defer func(was cut) { cuts = was }(cuts)
	eachSet(func(set string) {
		for _, threads := range []int{1, 2} {
			for _, cuts = range []cut{{96, false}, {120, true}, {288, false}, {288, true}, {384, true}} {
				body(set, kernel.NewPool(threads))
			}
		}
	})
}

// TestFarCuts: if the third cache is far, a thread's block of a stays in the second, and one that is transposed serves
// many columns before it is fetched again.
func TestFarCuts(t *testing.T) {
	for _, s := range []struct {
		k, threads int
		transposed bool
		cut        cut
		rows, cols int
	}{
		{512, 1, false, cut{maxRows, true}, maxRows, 1536},
		{128, 1, false, cut{maxRows, true}, 2 * maxRows, 1536},
		{512, 1, true, cut{maxRows, false}, 8 * maxRows, 1536},
		{512, 2, false, cut{maxRows, true}, 348, 32},
		{512, 2, true, cut{maxRows, true}, 348, 256},
		{512, 2, true, cut{maxRows, false}, 348, 32},
	} {
		if rows, cols := s.cut.chunk(2048, 1536, s.k, s.threads, s.transposed); rows != s.rows || cols != s.cols {
			t.Errorf("%v: got %d × %d", s, rows, cols)
		}
	}
}

// TestDeepProductsReadSeldom: if a chunk's rows of a fit only into memory, they are read again for every chunk next to
// it, and so are b's columns for every chunk below: at most one in 50 of the multiplied numbers is read.
func TestDeepProductsReadSeldom(t *testing.T) {
	const threads = 2
	for _, s := range [][3]int{{256, 768, 50257}, {2048, 384, 8192}, {1024, 1024, 50257}} {
		m, n := s[0], s[1]
		rows, cols := cut{rows: maxRows}.chunk(m, n, s[2], threads, false)
		down, across := (m+rows-1)/rows, (n+cols-1)/cols
		if read := m*across + n*down; 50*read > m*n || down*across < 3*threads {
			t.Errorf(
				"%v: %d × %d chunks of %d × %d read one number in %d, want 50 or more", s, down, across, rows, cols,
				m*n/read,
			)
		}
	}
}
