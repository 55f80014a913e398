package quant

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/internal/blocks"
)

var types = []blocks.Type{blocks.F32, blocks.BF16, blocks.Q8_0, blocks.Q4_0}

// stored returns w (n, k), row by row, as a matrix of two parts with the outputs in another order.
func stored(t testing.TB, of blocks.Type, k, n int, w []float32) *Matrix {
	t.Helper()
	var parts []Part
	for _, span := range [][2]int{{0, n / 3}, {n / 3, n}} {
		p := Part{Type: of}
		for j := span[0]; j < span[1]; j++ {
			var err error
			out := n - 1 - j
			p.Output = append(p.Output, out)
			if p.Data, err = of.Encode(p.Data, w[out*k:(out+1)*k]); err != nil {
				t.Fatal(err)
			}
		}
		parts = append(parts, p)
	}
	m, err := New(k, n, parts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// float sets x to v, which is a single vector.
func (v *vectors) float(x []float32) {
	for i, n := range v.n {
		x[i] = v.scales[i/32] * float32(n)
	}
}

// reference returns x·w + bias of the unpacked matrix in float64, with x rounded if the matrix has whole numbers, and
// the sums of the products' sizes.
func reference(w *Matrix, m int, x, bias []float32) (y, size []float64) {
	y, size = make([]float64, m*w.N), make([]float64, m*w.N)
	column, taken := make([]float32, w.K), slices.Clone(x)
	if w.whole {
		for i := range m {
			var v vectors
			v.round(x[i*w.K:][:w.K])
			v.float(taken[i*w.K:][:w.K])
		}
	}
	for j := range w.N {
		w.Column(column, j)
		for i := range m {
			if bias != nil {
				y[i*w.N+j] = float64(bias[j])
			}
			for l, c := range column {
				term := float64(c) * float64(taken[i*w.K+l])
				y[i*w.N+j] += term
				size[i*w.N+j] += math.Abs(term)
			}
		}
	}
	return y, size
}

// A product is the unpacked matrix's, for every type, number of vectors and threads, in every instruction set.
func TestMulAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for _, of := range types {
		for _, shape := range [][3]int{
			{1, 32, 1}, {1, 96, 67}, {3, 64, 33}, {5, 160, 70}, {9, 32, 5}, {1, 35, 9}, {6, 7, 40}, {2, 96, 3},
			{7, 32, 25}, {5, 71, 35}, {131, 64, 33}, {2, 1, 3},
		} {
			m, k, n := shape[0], shape[1], shape[2]
			if _, err := of.Bytes(k); err != nil {
				continue
			}
			w := stored(t, of, k, n, kerneltest.Random[float32](rng, n*k))
			x, bias := kerneltest.Random[float32](rng, m*k), kerneltest.Random[float32](rng, n)
			if k == 96 {
				bias = nil
			}
			want, size := reference(w, m, x, bias)
			eachSet(func(set string) {
				var first []float32
				for _, threads := range []int{1, 2, 8} {
					y := slices.Repeat([]float32{float32(math.NaN())}, m*n)
					w.MulAdd(kernel.NewPool(threads), m, x, bias, y)
					if first == nil {
						first = y
					}
					if !kerneltest.SameBits(y, first) {
						t.Errorf("%s %s %v: %d threads: other bits than 1", set, of, shape, threads)
					}
				}
				for i, y := range first {
					if d := math.Abs(float64(y) - want[i]); !(d <= 0x1p-20*(size[i]+math.Abs(want[i]))) {
						t.Fatalf("%s %s %v: entry %d: got %v, want %v", set, of, shape, i, y, want[i])
					}
				}
			})
		}
	}
}

// Sums of small whole numbers are exact, so every instruction set gives the same bits as plain Go.
func TestExact(t *testing.T) {
	const k, n = 96, 11
	rng := rand.New(rand.NewPCG(5, 1))
	w, x, want := make([]float32, n*k), make([]float32, k), make([]float32, n)
	for i := range w {
		w[i] = float32(rng.IntN(15) - 7)
		if i%32 == 0 {
			w[i] = -8
		}
	}
	for i := range x {
		x[i] = float32(rng.IntN(255) - 127)
		if i%32 == 0 {
			x[i] = 127
		}
	}
	for j := range want {
		for l, x := range x {
			want[j] += w[j*k+l] * x
		}
	}
	for _, of := range types {
		if of == blocks.Q8_0 {
			continue // its scale is no whole number
		}
		m := stored(t, of, k, n, w)
		eachSet(func(set string) {
			for _, rows := range []int{1, 6} {
				y := make([]float32, rows*n)
				m.MulAdd(kernel.NewPool(1), rows, slices.Repeat(x, rows), nil, y)
				if !slices.Equal(y, slices.Repeat(want, rows)) {
					t.Errorf("%s %s: got %v, want %v %d times", set, of, y, want, rows)
				}
			}
		})
	}
}

// A vector has the same product alone and beside others, and on every processor: a text does not depend on those that
// are continued with it, nor on how many tokens of a prompt are read at once.
func TestTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, shape := range [][2]int{{96, 67}, {160, 60}, {32, 16}, {352, 114}, {71, 35}} {
		k, n := shape[0], shape[1]
		x, bias := kerneltest.Random[float32](rng, 35*k), kerneltest.Random[float32](rng, n)
		for _, of := range types {
			if _, err := of.Bytes(k); err != nil {
				continue
			}
			reversed := stored(t, of, k, n, kerneltest.Random[float32](rng, n*k))
			ordered, err := Pack(kernel.NewPool(1), of, k, n, gemm.Mat(kerneltest.Random[float32](rng, n*k), n))
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range []*Matrix{reversed, ordered} {
				var want []float32
				eachSet(func(set string) {
					for _, m := range []int{35, 24, 17, 16, 15, 13, 9, 8, 7, 6, 5, 4, 3, 2, 1} {
						y := slices.Repeat([]float32{float32(math.NaN())}, m*n)
						if w.MulAdd(kernel.NewPool(2), m, x, bias, y); want == nil {
							want = y
						}
						if !kerneltest.SameBits(y, want[:m*n]) {
							t.Fatalf("%s %s (%d, %d): %d vectors: got other bits than %d",
								set, of, k, n, m, len(want)/n)
						}
					}
				})
			}
		}
	}
}

// The ends: numbers −128 of a file, infinite and NaN inputs, which give no finite number, and zeros.
func TestEnds(t *testing.T) {
	const k = 64
	data := make([]byte, 2*34)
	for i := range data {
		data[i] = 0x80
	}
	data[0], data[1], data[34], data[35] = 0, 0x3c, 0, 0x3c // both scales are 1
	w, err := New(k, 1, Part{Type: blocks.Q8_0, Data: data, Output: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	x := slices.Repeat([]float32{127}, k)
	zeros, inf, nan := make([]float32, k), slices.Clone(x), slices.Clone(x)
	inf[40], nan[3] = float32(math.Inf(-1)), float32(math.NaN())
	eachSet(func(set string) {
		for _, m := range []int{1, 3, 4, 5, 16, 128} {
			p, y := kernel.NewPool(1), make([]float32, m)
			if w.MulAdd(p, m, slices.Repeat(x, m), nil, y); y[0] != -128*127*k {
				t.Errorf("%s: got %v, want %v", set, y[0], -128*127*k)
			}
			if w.MulAdd(p, m, slices.Repeat(zeros, m), nil, y); y[0] != 0 {
				t.Errorf("%s: got %v, want 0", set, y[0])
			}
			for _, bad := range [][]float32{inf, nan} {
				if w.MulAdd(p, m, slices.Repeat(bad, m), nil, y); !math.IsNaN(float64(y[0])) &&
					!math.IsInf(float64(y[0]), 0) {
					t.Errorf("%s, %d vectors: got %v, want no finite number", set, m, y[0])
				}
			}
		}
	})
}

// Every instruction set rounds as plain Go does, a vector alone and three in a group of four: ties go to the even
// number, blocks of zeros and of numbers below the normal ones become zeros, and a number that is not finite makes the
// scale of its block NaN or infinite.
func TestRound(t *testing.T) {
	const k, blocks = 288, 9
	rng := rand.New(rand.NewPCG(11, 1))
	x := kerneltest.Random[float32](rng, 3*k)
	clear(x[32:64])
	x[96], x[97], x[98] = 254, 3, -5 // 1.5 and −2.5 are ties
	for i := range 32 {
		x[128+i] *= 1e-42
		x[160+i] *= 1e30
		x[192+i] *= 1e-30
	}
	x[224+5], x[256] = float32(math.NaN()), float32(math.Inf(-1))
	var want [3]vectors
	for i := range want {
		want[i].round(x[i*k:][:k])
	}
	finite := func(x float32) bool { return x-x == 0 }
	eachSet(func(set string) {
		var r rounded
		for _, m := range []int{1, 3} {
			if r.round(kernel.NewPool(2), m, k, x); len(r.fours) == 0 && m > 1 {
				continue
			}
			for i := range m {
				v, place := &vectors{}, i
				if m == 1 {
					v = &r.one[0]
				} else {
					v = &r.fours[0]
				}
				for b := range blocks {
					at := b*v.apart + place
					if s, w := v.scales[at], want[i].scales[b]; s != w && (finite(s) || finite(w)) {
						t.Fatalf("%s: vector %d of %d, block %d: got scale %v, want %v", set, i, m, b, s, w)
					} else if !finite(w) {
						continue
					}
					if got, want := v.n[32*at:][:32], want[i].n[32*b:][:32]; !slices.Equal(got, want) {
						t.Errorf("%s: vector %d of %d, block %d: got %v, want %v", set, i, m, b, got, want)
					}
				}
			}
		}
	})
}

// Rows that do not fit, and numbers that are not finite, are errors.
func TestRefuses(t *testing.T) {
	row := make([]byte, 34)
	part := func(of blocks.Type, data []byte, outputs ...int) Part {
		return Part{Type: of, Data: data, Output: outputs}
	}
	for want, err := range map[string]error{
		"got 0 inputs and 1 outputs":   second(New(0, 1)),
		"got 32 inputs and 0 outputs":  second(New(32, 0)),
		"type: got Q6_K":               second(New(256, 1, part(blocks.Q6_K, make([]byte, 210), 0))),
		"Q8_0: got 33 numbers":         second(New(33, 1, part(blocks.Q8_0, row, 0))),
		"Q8_0: got 34 bytes, want 68":  second(New(32, 2, part(blocks.Q8_0, row, 0, 1))),
		"output 2 of 2: want each in":  second(New(32, 2, part(blocks.Q8_0, row, 2))),
		"output -1 of 2: want each in": second(New(32, 2, part(blocks.Q8_0, row, -1))),
		"output 0 of 2: want each in":  second(New(32, 2, part(blocks.Q8_0, row, 0), part(blocks.Q8_0, row, 0))),
		"output 1 of 2: want a row":    second(New(32, 2, part(blocks.Q8_0, row, 0))),
		"Q4_0: number 0 of [+Inf": second(
			Pack(
				kernel.NewPool(1), blocks.Q4_0, 32, 1, gemm.Mat(slices.Repeat([]float32{float32(math.Inf(1))}, 32), 1),
			),
		),
		"Q4_0: got 31 numbers, want a m": second(
			Pack(kernel.NewPool(1), blocks.Q4_0, 31, 1, gemm.Mat(make([]float32, 31), 1)),
		),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	for _, of := range types {
		for _, bits := range [][]byte{{0, 0x7c}, {0x80, 0x7f}, {0, 0, 0x80, 0xff}, {0xff, 0x7f}} {
			data, err := of.Encode(nil, make([]float32, 3*64))
			if err != nil {
				t.Fatal(err)
			}
			w, err := New(64, 3, part(of, data, 2, 1, 0))
			if err != nil || w.Finite(kernel.NewPool(2)) != nil {
				t.Fatalf("%s of zeros: %v, %v", of, err, w.Finite(kernel.NewPool(2)))
			}
			_, size := of.Block()
			copy(data[len(data)/3:], bits) // output 1
			x := make([]float32, 64)
			w.Column(x, 1)
			finite := !slices.ContainsFunc(x, func(x float32) bool { return x-x != 0 })
			if err := w.Finite(kernel.NewPool(2)); (err == nil) != finite || err != nil &&
				!strings.Contains(err.Error(), "output 1 has") {
				t.Errorf("%s (%d bytes) with %x: got %v, finite %t", of, size, bits, err, finite)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Pack stores the nearest blocks, and Unpack returns them.
func TestPack(t *testing.T) {
	const k, n = 64, 70
	rng := rand.New(rand.NewPCG(9, 1))
	x := kerneltest.Random[float32](rng, k*n)
	w, err := Pack(kernel.NewPool(2), blocks.Q4_0, k, n, gemm.Mat(x, n))
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, k*n)
	w.Unpack(gemm.Mat(got, n))
	for j := range n {
		for b := range k / 32 {
			top := 0.0
			for i := range 32 {
				top = max(top, math.Abs(float64(x[(32*b+i)*n+j])))
			}
			for i := range 32 {
				at := (32*b+i)*n + j
				if d := math.Abs(float64(got[at] - x[at])); !(d <= top/8*1.01) {
					t.Fatalf("(%d, %d): got %v, want %v within %v", 32*b+i, j, got[at], x[at], top/8)
				}
			}
		}
	}
	if got := w.Bytes(); got != n*k/32*18 {
		t.Errorf("got %d bytes, want %d", got, n*k/32*18)
	}
}

// Rows that cannot be packed are an error, however many threads find one.
func TestPackRefuses(t *testing.T) {
	const k, n = 32, 3 * stripRows
	x := make([]float32, k*n)
	for i := range x {
		x[i] = float32(math.NaN())
	}
	for _, threads := range []int{1, 2} {
		if w, err := Pack(kernel.NewPool(threads), blocks.Q4_0, k, n, gemm.Mat(x, n)); err == nil || w != nil {
			t.Errorf("%d threads: got %v and error %v, want an error alone", threads, w, err)
		}
	}
}

// A product is timed in bytes of the matrix.
func BenchmarkMulAdd(b *testing.B) {
	const k, n = 768, 50257
	p, rng := kernel.NewPool(0), rand.New(rand.NewPCG(1, 1))
	m := gemm.Mat(kerneltest.Random[float32](rng, k*n), k).T()
	x, y := kerneltest.Random[float32](rng, 8*k), make([]float32, 8*n)
	for _, of := range types {
		w, err := Pack(p, of, k, n, m)
		if err != nil {
			b.Fatal(err)
		}
		for _, rows := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", of, rows), func(b *testing.B) {
				b.SetBytes(int64(w.Bytes()))
				for b.Loop() {
					w.MulAdd(p, rows, x, nil, y)
				}
			})
		}
	}
}

// A prompt's product is given in operations, and the product of float32 beside it.
func BenchmarkPrompt(b *testing.B) {
	p, rng := kernel.NewPool(1), rand.New(rand.NewPCG(1, 1))
	for _, shape := range [][2]int{{768, 3072}, {3072, 768}, {576, 1536}} {
		k, n := shape[0], shape[1]
		mat := gemm.Mat(kerneltest.Random[float32](rng, k*n), k).T()
		for _, m := range []int{4, 8, 16, 32, 128, 512} {
			x, y := kerneltest.Random[float32](rng, m*k), make([]float32, m*n)
			run := func(name string, product func()) {
				b.Run(fmt.Sprintf("%s/%dx%dx%d", name, m, k, n), func(b *testing.B) {
					for b.Loop() {
						product()
					}
					b.ReportMetric(2*float64(m*k*n*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
			for _, of := range types {
				w, err := Pack(p, of, k, n, mat)
				if err != nil {
					b.Fatal(err)
				}
				run(of.String(), func() { w.MulAdd(p, m, x, nil, y) })
			}
			run("gemm", func() { gemm.Mul(p, m, n, k, 1, gemm.Mat(x, k), mat, 0, gemm.Mat(y, n)) })
		}
	}
}
