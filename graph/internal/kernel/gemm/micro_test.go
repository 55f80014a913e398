//go:build (amd64 || arm64) && !nosimd

package gemm

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestMicrokernels compares random products with sums in float64. All memory outside the operands is NaN or unreadable.
func TestMicrokernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	cases := 60
	if os.Getenv("NIGHTLY") != "" {
		cases = 400
	}
	for range cases {
		g := randomProduct(t, rng)
		name := fmt.Sprintf(
			"%dx%dx%d a %t b %t alpha %g beta %g d %t", g.m, g.k, g.n, g.a.Trans, g.b.Trans, g.alpha, g.beta,
			g.d.Data != nil,
		)
		want, size := g.inFloat64()
		var first []float32
		for set, kernels := range gemmSets() {
			h := g
			h.c.Data = guarded(t, rng.IntN(2) == 0, len(g.c.Data))
			copy(h.c.Data, g.c.Data)
			if g.d.Data != nil && &g.d.Data[0] == &g.c.Data[0] {
				h.d = h.c
			}
			inPieces(rng, kernels, &h)
			checkProduct(t, set+" "+name, &g, h.c, want, size)
			if first == nil {
				first = slices.Clone(h.c.Data)
			}
			if !kerneltest.SameBits(first, h.c.Data) {
				t.Errorf("%s %s: other bits than the other instruction set's", set, name)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// inPieces computes c in up to 4 parts, which must not change the result.
func inPieces(rng *rand.Rand, kernels *microkernels, g *product[float32]) {
	i, j := rng.IntN(g.m+1), rng.IntN(g.n+1)
	for _, rows := range [][2]int{{0, i}, {i, g.m}} {
		for _, cols := range [][2]int{{0, j}, {j, g.n}} {
			if rows[0] < rows[1] && cols[0] < cols[1] {
				kernels.tile(g, rows[0], rows[1], cols[0], cols[1])
			}
		}
	}
}

func randomProduct(t *testing.T, rng *rand.Rand) product[float32] {
	size := func() int {
		switch rng.IntN(8) {
		case 0:
			return 1
		case 1:
			return []int{257, 389, 521, 641}[rng.IntN(4)]
		case 2:
			return []int{12, 16, 24, 32, 64, 96, 128, 256}[rng.IntN(8)]
		}
		return 1 + rng.IntN(70)
	}
	m, n, k := size(), size(), size()
	matrix := func(rows, cols int, trans bool) Matrix[float32] {
		if trans {
			rows, cols = cols, rows
		}
		stride := cols + rng.IntN(2)*rng.IntN(20)
		data := guarded(t, rng.IntN(2) == 0, (rows-1)*stride+cols)
		for i := range data {
			if data[i] = float32(math.NaN()); i%stride < cols {
				data[i] = float32(rng.NormFloat64())
			}
		}
		return Matrix[float32]{data, stride, trans}
	}
	g := product[float32]{
		m: m, n: n, k: k, alpha: []float32{1, -0.7}[rng.IntN(2)], beta: []float32{0, 1, 0.5, 1}[rng.IntN(4)],
	}
	g.a, g.b = matrix(m, k, rng.IntN(2) == 0), matrix(k, n, rng.IntN(2) == 0)
	g.c = matrix(m, n, false)
	switch {
	case g.beta == 0:
		for i := range g.c.Data { // earlier numbers must not matter
			g.c.Data[i] = float32(math.NaN())
		}
	case g.beta == 0.5 || rng.IntN(2) == 0:
		g.d = g.c
	case rng.IntN(2) == 0:
		g.d = matrix(m, n, false)
	default:
		g.d = matrix(1, n, false)
		g.d.Stride = 0
	}
	return g
}

// inFloat64 returns the product and the sum of the absolute values of its terms.
func (g *product[T]) inFloat64() (want, size []float64) {
	for i := range g.m {
		for j := range g.n {
			var sum, abs float64
			for l := range g.k {
				term := g.a.at(i, l) * g.b.at(l, j)
				sum += term
				abs += math.Abs(term)
			}
			sum, abs = float64(g.alpha)*sum, math.Abs(float64(g.alpha))*abs
			if g.d.Data != nil {
				sum += float64(g.beta) * g.d.at(i, j)
				abs += math.Abs(float64(g.beta) * g.d.at(i, j))
			}
			want, size = append(want, sum), append(size, abs)
		}
	}
	return want, size
}

// checkProduct checks the entries, and that the gaps between the rows are unchanged. A result must be NaN or infinite
// exactly where the expected one is.
func checkProduct(t *testing.T, name string, g *product[float32], got Matrix[float32], want, size []float64) {
	t.Helper()
	for at, v := range got.Data {
		i, j := at/got.Stride, at%got.Stride
		if j >= g.n {
			if math.Float32bits(v) != math.Float32bits(g.c.Data[at]) {
				t.Errorf("%s: (%d, %d), after the row's end, was written", name, i, j)
				return
			}
			continue
		}
		w, tol := want[i*g.n+j], float64(g.k+4)*epsilon[float32]()*size[i*g.n+j]
		same := math.IsNaN(w) && v != v || math.IsInf(w, 0) && float64(v) == w
		if !same && !(math.Abs(float64(v)-w) <= tol) {
			t.Errorf("%s: (%d, %d): got %v, want %v", name, i, j, v, w)
			return
		}
	}
}

// TestMicrokernelsFollowIEEE: 0·NaN and 0·∞ are NaN, ∞·2 is ∞, only in their own row or column.
func TestMicrokernelsFollowIEEE(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	special := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0}
	for set, kernels := range gemmSets() {
		for range 60 {
			g := randomProduct(t, rng)
			for range 3 {
				g.a.Data[rng.IntN(len(g.a.Data))] = 0
				*g.a.pointer(rng.IntN(g.m), rng.IntN(g.k)) = special[rng.IntN(4)]
				*g.b.pointer(rng.IntN(g.k), rng.IntN(g.n)) = special[rng.IntN(4)]
			}
			for i := range g.m { // a column of zeros is multiplied with any number in b's row
				*g.a.pointer(i, 0) = 0
			}
			*g.b.pointer(0, rng.IntN(g.n)) = special[rng.IntN(3)]
			want, size := g.inFloat64()
			before := g
			before.c.Data = slices.Clone(g.c.Data)
			kernels.tile(&g, 0, g.m, 0, g.n)
			checkProduct(t, set, &before, g.c, want, size)
		}
	}
}

// TestBitsAreThoseOfEveryProcessor: AVX-512, AVX2 and NEON all give products with this digest.
func TestBitsAreThoseOfEveryProcessor(t *testing.T) {
	for set, kernels := range gemmSets() {
		digest := fnv.New64a()
		for i, size := range [][3]int{
			{1, 75, 300}, {1, 40, 37}, {3, 17, 20}, {12, 8, 64}, {31, 45, 290}, {100, 9, 30},
		} {
			for form := range 4 {
				m, n, k := size[0], size[1], size[2]
				draw := rand.New(rand.NewPCG(uint64(i), uint64(form)))
				matrix := func(rows, cols int, trans bool) Matrix[float32] {
					x := Matrix[float32]{make([]float32, rows*cols), cols, trans}
					for j := range x.Data { // exact, without another library
						x.Data[j] = float32(draw.IntN(1<<16)-1<<15) / (1 << 13)
					}
					if trans {
						x.Stride = rows
					}
					return x
				}
				g := product[float32]{
					m: m, n: n, k: k, alpha: 0.7, beta: 1, a: matrix(m, k, form%2 == 1), b: matrix(k, n, form/2 == 1),
					d: matrix(m, n, false),
				}
				g.c = Matrix[float32]{make([]float32, m*n), n, false}
				kernels.tile(&g, 0, m, 0, n)
				if err := binary.Write(digest, binary.LittleEndian, g.c.Data); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := digest.Sum64(); got != 0x7de3ea4610b6e59c {
			t.Errorf("%s: digest %#x, want 0x7de3ea4610b6e59c", set, got)
		}
	}
}

// TestColumnsOnly: a set without a kernel for rows packs any number of them, and its bits are the others'.
func TestColumnsOnly(t *testing.T) {
	sets := gemmSets()
	if sets[byColumns] == nil {
		t.Skip("this processor has no AVX2")
	}
	rng := rand.New(rand.NewPCG(11, 12))
	random := func(rows, cols int) Matrix[float32] {
		x := guarded(t, true, rows*cols)
		copy(x, kerneltest.Random[float32](rng, rows*cols))
		return Mat(x, cols)
	}
	for _, m := range []int{1, 2, 7, 8, 95, 96, 97, 193} {
		for _, k := range []int{1, 7, 8, 9, 400} {
			const n = 21
			g := product[float32]{
				m: m, n: n, k: k, alpha: 1, beta: 1, a: random(m, k), b: random(k, n), c: random(m, n),
			}
			h := g
			g.d, h.c.Data = g.c, slices.Clone(g.c.Data)
			h.d = h.c
			sets[byColumns].tile(&g, 0, m, 0, n)
			sets["AVX2"].tile(&h, 0, m, 0, n)
			if !kerneltest.SameBits(g.c.Data, h.c.Data) {
				t.Errorf("%d × %d × %d: other bits than with a kernel for rows", m, k, n)
			}
		}
	}
}

// TestWithoutInstructionSet: products are computed in Go, and so is the processor's peak.
func TestWithoutInstructionSet(t *testing.T) {
	defer func(was *microkernels) { gemmBest = was }(gemmBest)
	for _, set := range gemmSets() {
		if gemmBest = set; set == nil {
			continue
		}
		if loops := peakLoops(); len(loops) != 1 || loops[0].operations != float64(2*24*set.lanes) {
			t.Errorf(
				"%d lanes: got %d loops of %v operations, want one of 24 vectors", set.lanes, len(loops),
				loops[0].operations,
			)
		}
	}
	gemmBest = nil
	if n := len(peakLoops()); n != 2 {
		t.Errorf("got %d loops in Go, want 2", n)
	}
	t.Run("product", testGemm[float32])
	t.Run("sum", testGemmAdd[float32])
}

// BenchmarkInstructionSets is BenchmarkGemm for each instruction set.
func BenchmarkInstructionSets(b *testing.B) {
	was := gemmBest
	defer func() { gemmBest = was }()
	sets := gemmSets()
	delete(sets, byColumns)
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		gemmBest = sets[name]
		b.Run(name, func(b *testing.B) {
			b.Run("Gemm", BenchmarkGemm)
			b.Run("Peak", BenchmarkPeak)
		})
	}
}
