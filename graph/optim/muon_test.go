package optim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// phi is one iteration of a singular value.
func phi(x float64) float64 { return 3.4445*x - 4.7750*x*x*x + 2.0315*x*x*x*x*x }

// reflected returns I − 2vvᵀ for a random unit vector v of n numbers: an orthogonal matrix.
func reflected(rng *rand.Rand, n int) []float64 {
	v, squares := make([]float64, n), 0.0
	for i := range v {
		v[i] = rng.NormFloat64()
		squares += v[i] * v[i]
	}
	m := make([]float64, n*n)
	for i := range n {
		for j := range n {
			m[i*n+j] = -2 * v[i] * v[j] / squares
		}
		m[i*n+i]++
	}
	return m
}

// between returns U·D·Vᵀ (rows, cols), where D has the given diagonal.
func between(u, diagonal, v []float64, rows, cols int) []float64 {
	m := make([]float64, rows*cols)
	for i := range rows {
		for j := range cols {
			for k, d := range diagonal {
				m[i*cols+j] += u[i*rows+k] * d * v[j*cols+k]
			}
		}
	}
	return m
}

// Of the gradient UDVᵀ, with orthogonal U and V, the update is −s·U·φ⁵(D/‖D‖)·Vᵀ: the iteration keeps the singular
// vectors and takes every singular value through φ five times. Singular values from 0.0052 on come into 0.6818 …
// 1.1544, smaller ones never exceed 1.2024. An orthogonal gradient has n equal values 1/√n.
func TestMuonSingularValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, shape := range [][2]int{{5, 5}, {3, 8}, {9, 4}, {1, 6}, {7, 1}} {
		in, out := shape[0], shape[1]
		for _, spread := range []float64{1, 0.5, 0.2} { // every singular value is this share of the one before
			d := make([]float64, min(in, out))
			squares := 0.0
			for i := range d {
				d[i] = 1e-3 * math.Pow(spread, float64(i))
				squares += d[i] * d[i]
			}
			u, v := reflected(rng, in), reflected(rng, out)
			g, want := between(u, d, v, in, out), slices.Clone(d)
			for i, x := range d {
				y := x / math.Sqrt(squares)
				small := y < 0.0052
				for range 5 {
					y = phi(y)
				}
				if want[i] = -y; y > 1.2024 || !small && (y < 0.6818 || y > 1.1544) {
					t.Errorf("singular value %v becomes %v", x/math.Sqrt(squares), y)
				}
			}
			w := make([]float64, in*out)
			Muon{Scale: "spectral"}.Step(Step{Rate: 1 / math.Sqrt(max(1, float64(out)/float64(in))), Scale: 1,
				W: graph.Tensor{Shape: shape[:], F64: w}, G: graph.Tensor{F64: g},
				M: graph.Tensor{F64: make([]float64, in*out)}})
			for i, x := range between(u, want, v, in, out) {
				if !(math.Abs(w[i]-x) <= 1e-12) {
					t.Errorf("(%d, %d), entry %d: got %v, want %v", in, out, i, w[i], x)
				}
			}
		}
	}
}

// In float32, the iteration by small symmetric matrices stays near the iteration of X itself in float64, also if
// singular values span nine powers of ten, where XXᵀ has lost the small ones.
func TestMuonSmallSingularValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, shape := range [][2]int{{48, 48}, {32, 80}, {80, 32}} {
		in, out := shape[0], shape[1]
		d := make([]float64, min(in, out))
		for i := range d {
			d[i] = math.Pow(10, -9*float64(i)/float64(len(d)))
		}
		u, v := reflected(rng, in), reflected(rng, out)
		g := between(u, d, v, in, out)
		squares := 0.0
		for _, x := range d {
			squares += x * x
		}
		for i, x := range d {
			y := x / math.Sqrt(squares)
			for range 5 {
				y = phi(y)
			}
			d[i] = -y
		}
		want, g32 := between(u, d, v, in, out), make([]float32, in*out)
		for i, x := range g {
			g32[i] = float32(x)
		}
		w := make([]float32, in*out)
		o := Muon{Scale: "spectral"}
		o.Step(Step{Rate: 1 / o.scale(in, out), Scale: 1, W: graph.Tensor{Shape: shape[:], F32: w},
			G: graph.Tensor{F32: g32}, M: graph.Tensor{F32: make([]float32, in*out)}})
		far := 0.0
		for i, x := range want {
			far = max(far, math.Abs(float64(w[i])-x))
		}
		if t.Logf("(%d, %d): furthest %.1e", in, out, far); !(far < 1e-3) {
			t.Errorf("(%d, %d): an entry is %v from that in float64, want below 1e-3", in, out, far)
		}
	}
}

// Two steps of a number: X is its sign, of which five iterations leave φ⁵(1). Without a gradient it only decays.
func TestMuonSteps(t *testing.T) {
	w, m := []float64{2}, []float64{0}
	step := func(g float64) {
		Muon{Momentum: 0.5}.Step(Step{Rate: 0.1, Decay: 0.25, Scale: 2, W: graph.Tensor{Shape: []int{1, 1}, F64: w},
			G: graph.Tensor{F64: []float64{g}}, M: graph.Tensor{F64: m}})
	}
	const left = 0.6964364094697522
	want := 2.0
	for _, tc := range []struct{ g, sign, m float64 }{{0, 0, 0}, {1.5, 1, 3}, {-1, -1, -0.5}, {0.2, 1, 0.15}} {
		want -= 0.1 * (0.2*left*tc.sign + 0.25*want) // s is 0.2·√1
		if step(tc.g); !(math.Abs(w[0]-want) <= 1e-12) || !(math.Abs(m[0]-tc.m) <= 1e-15) {
			t.Errorf("gradient %v: got %v and momentum %v, want %v and %v", 2*tc.g, w[0], m[0], want, tc.m)
		}
	}
}

// The factor depends on the shape (in, out).
func TestMuonScale(t *testing.T) {
	for _, tc := range []struct {
		scale   string
		in, out int
		want    float64
	}{{"", 9, 4, 0.6}, {"rms", 4, 9, 0.6}, {"spectral", 4, 9, 1.5}, {"spectral", 9, 4, 1}} {
		if got := (Muon{Scale: tc.scale}).scale(tc.in, tc.out); !(math.Abs(got-tc.want) <= 1e-15) {
			t.Errorf("%q, (%d, %d): got %v, want %v", tc.scale, tc.in, tc.out, got, tc.want)
		}
	}
}

// Packed matrices are updated like separate ones, to the bit.
func TestMuonPacked(t *testing.T) {
	// Every row of a part begins at a multiple of 16 bytes: without assembly, the products are gonum's, whose dot
	// product adds in an order that depends on it.
	const in, all = 40, 152
	widths := []int{20, 92, 40}
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func() []float32 {
		x := make([]float32, in*all)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		return x
	}
	w, g, m := draw(), draw(), draw()
	step := func(width int, columns []int, w, g, m []float32) {
		Muon{Momentum: 0.9, Steps: 4}.Step(Step{Rate: 0.25, Decay: 0.5, Scale: 0.5, Columns: columns,
			W: graph.Tensor{Shape: []int{in, width}, F32: w}, G: graph.Tensor{F32: g}, M: graph.Tensor{F32: m},
			work: new(workspace)})
	}
	w1, m1 := slices.Clone(w), slices.Clone(m)
	step(all, widths, w1, g, m1)
	from := 0
	for _, width := range widths {
		cut := func(x []float32) (part []float32) {
			for row := range in {
				part = append(part, x[row*all+from:][:width]...)
			}
			return part
		}
		w2, m2 := cut(w), cut(m)
		step(width, nil, w2, cut(g), m2)
		if !slices.Equal(cut(w1), w2) || !slices.Equal(cut(m1), m2) {
			t.Errorf("columns %d … %d: got %v, alone %v", from, from+width-1, cut(w1)[:3], w2[:3])
		}
		from += width
	}
}

// Gradients of low rank keep their singular vectors and come near 1, for any number of steps and at every scale, as by
// the iteration of X itself; what rounding leaves beside them stays below 1.3. A gradient of 0 changes nothing.
func TestMuonLowRank(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, shape := range [][2]int{{24, 32}, {32, 24}, {1, 6}, {20, 20}} {
		in, out := shape[0], shape[1]
		u, v := reflected(rng, in), reflected(rng, out)
		equal := make([]float64, in) // of equal rows
		for i := range equal {
			equal[i] = 1 / math.Sqrt(float64(in))
		}
		for _, rank := range []int{0, 1, 2, 8} {
			if rank > min(in, out) {
				continue
			}
			d := make([]float64, rank)
			for i := range d {
				d[i] = 1 / float64(1+i)
			}
			g := between(u, d, v, in, out)
			lowRank[float32](t, in, out, rank, g, u, v, 1e-30, 1, 1e18)
			lowRank[float64](t, in, out, rank, g, u, v, 1e-300, 1, 1e300)
			if rank == 1 {
				for i := range g {
					g[i] = equal[i/out] * v[i%out*out]
				}
				lowRank[float32](t, in, out, rank, g, equal, v, 1)
				lowRank[float64](t, in, out, rank, g, equal, v, 1)
			}
		}
	}
}

func lowRank[T float32 | float64](t *testing.T, in, out, rank int, g, u, v []float64, sizes ...float64) {
	t.Helper()
	for _, size := range sizes {
		for _, steps := range []int{1, 5, 8, 9, 10, 13, 20, 100} {
			x := muonOf[T](in, out, steps, g, size)
			squares := 0.0
			for _, a := range x {
				squares += a * a
			}
			if most := 1.3 * math.Sqrt(float64(min(in, out))); !(squares <= most*most) || rank == 0 && squares > 0 {
				t.Errorf("%T (%d, %d), rank %d, scale %g, %d steps: got norm %v, want at most %v",
					T(0), in, out, rank, size, steps, math.Sqrt(squares), most)
			}
			for k := range rank {
				value := 0.0 // along the singular vectors
				for i := range in {
					for j := range out {
						value += u[i*len(u)/in+k] * x[i*out+j] * v[j*out+k]
					}
				}
				if steps >= 5 && !(value > 0.6 && value < 1.3) {
					t.Errorf("%T (%d, %d), rank %d, scale %g, %d steps: singular value %d is %v, want 0.6 to 1.3",
						T(0), in, out, rank, size, steps, k, value)
				}
			}
		}
	}
}

// muonOf returns the update of a weight of 0 by the gradient size·g, without its factor and sign.
func muonOf[T float32 | float64](in, out, steps int, g []float64, size float64) []float64 {
	w, grad, m := make([]T, in*out), make([]T, in*out), make([]T, in*out)
	for i, x := range g {
		grad[i] = T(size * x)
	}
	tensor := func(x []T) (t graph.Tensor) {
		t.Shape = []int{in, out}
		t.F32, _ = any(x).([]float32)
		t.F64, _ = any(x).([]float64)
		return t
	}
	o := Muon{Scale: "spectral", Steps: steps}
	o.Step(Step{Rate: 1 / o.scale(in, out), Scale: 1, W: tensor(w), G: tensor(grad), M: tensor(m)})
	x := make([]float64, len(w))
	for i, a := range w {
		x[i] = -float64(a)
	}
	return x
}

// The iteration by the squares of X and the iteration of X itself by hand agree also where X is computed again.
func TestMuonStepsAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for _, shape := range [][2]int{{5, 7}, {6, 4}} {
		in, out := shape[0], shape[1]
		g := make([]float64, in*out)
		for i := range g {
			g[i] = rng.NormFloat64()
		}
		for _, steps := range []int{8, 9, 13, 14, 18} {
			o, zeros := hand.Muon{Rate: 1, Scale: 1, Steps: steps}, hand.Zeros[float64](in, out)
			w, _ := hand.MuonUpdate(o, zeros, hand.NewMatrix(in, out, g...), zeros)
			for i, x := range muonOf[float64](in, out, steps, g, 1) {
				if want := -w.Data[i]; !(math.Abs(x-want) <= 1e-9) {
					t.Errorf("(%d, %d), %d steps, entry %d: got %v, want %v", in, out, steps, i, x, want)
				}
			}
		}
	}
}
