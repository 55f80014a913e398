package optim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// soaped is a matrix (in, out) with everything that SOAP keeps for it, updated step by step.
type soaped struct {
	rule    SOAP
	t       int
	w, m, v graph.Tensor
	columns []int
	names   []string
	kept    []graph.Tensor
	work    *workspace
}

// tensorOf returns numbers of type T as a tensor.
func tensorOf[T kernel.Float](shape []int, x []T) (t graph.Tensor) {
	t.Shape = shape
	t.F32, _ = any(x).([]float32)
	t.F64, _ = any(x).([]float64)
	return t
}

func newSoaped[T kernel.Float](rule SOAP, in, out int, columns ...int) *soaped {
	zeros := func(shape ...int) graph.Tensor {
		n := 1
		for _, size := range shape {
			n *= size
		}
		return tensorOf(shape, make([]T, n))
	}
	s := &soaped{
		rule: rule, w: zeros(in, out), m: zeros(in, out), v: zeros(in, out), columns: columns, work: new(workspace),
	}
	for _, k := range rule.further([]int{in, out}, columns) {
		s.names, s.kept = append(s.names, k.Name), append(s.kept, zeros(k.Shape...))
	}
	return s
}

func (s *soaped) step(rate, decay, scale float64, g graph.Tensor) {
	s.t++
	s.rule.Step(Step{T: s.t, Rate: rate, Decay: decay, Scale: scale, W: s.w, G: g, M: s.m, V: s.v, Further: s.kept,
		Columns: s.columns, work: s.work})
}

// matrix returns a tensor that s keeps as a matrix by hand.
func (s *soaped) matrix(name string) hand.Matrix[float64] {
	t := s.kept[slices.Index(s.names, name)]
	return hand.NewMatrix(t.Shape[0], t.Shape[1], t.Floats()...)
}

func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// In float64 weights, preconditioners and vectors equal the formula's by hand, which follows the paper with its M in
// the coordinates of the weights. A side that is too long is not rotated.
func TestSOAPByHand(t *testing.T) {
	for _, most := range []int{0, 3} {
		const in, out = 4, 3
		rng := rand.New(rand.NewPCG(5, 6))
		o := SOAP{Beta1: 0.5, Beta2: 0.75, ShampooBeta: 0.625, Frequency: 2, MaxDim: most}
		s := newSoaped[float64](o, in, out)
		copy(s.w.F64, normals(rng, in*out))
		w := hand.NewMatrix(in, out, s.w.Floats()...)
		state := hand.SOAPState[float64]{M: hand.Zeros[float64](in, out), V: hand.Zeros[float64](in, out),
			R: hand.Zeros[float64](out, out), QR: hand.NewMatrix(3, 3, 1, 0, 0, 0, 1, 0, 0, 0, 1.)}
		if most == 0 {
			state.L = hand.Zeros[float64](in, in)
			state.QL = hand.NewMatrix(4, 4, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1.)
		}
		for step := 1; step <= 7; step++ {
			g := normals(rng, in*out)
			s.step(0.1, 0.25, 2, graph.Tensor{F64: g})
			h := hand.SOAP{Rate: 0.1, Beta1: 0.5, Beta2: 0.75, Eps: 1e-8, Decay: 0.25, ShampooBeta: 0.625,
				Power: step == 1 || step%2 == 0}
			w, state = hand.SOAPUpdate(h, step, w, hand.NewMatrix(in, out, g...).Scale(2), state)
			near := func(name string, got, want hand.Matrix[float64]) {
				t.Helper()
				for i, x := range want.Data {
					if !(math.Abs(got.Data[i]-x) <= 1e-9*max(1, math.Abs(x))) {
						t.Fatalf(
							"at most %d, step %d: %s, entry %d: got %v, by hand %v", most, step, name, i, got.Data[i],
							x,
						)
					}
				}
			}
			near("w", hand.NewMatrix(in, out, s.w.F64...), w)
			near("r", s.matrix("r"), state.R)
			near("qr", s.matrix("qr").Transpose(), state.QR)
			if most == 0 {
				near("l", s.matrix("l"), state.L)
				near("ql", s.matrix("ql").Transpose(), state.QL)
			}
		}
	}
}

// Where L and R are diagonal, the vectors stay I, and SOAP is AdamW.
func TestSOAPIsAdamW(t *testing.T) {
	s, a := newSoaped[float64](SOAP{Beta1: 0.9, Beta2: 0.99, Frequency: 1}, 3, 4), AdamW{Beta1: 0.9, Beta2: 0.99}
	start := []float64{1, 0, 0, 0, 0, -2, 0, 0, 0, 0, 3, 0}
	copy(s.w.F64, start)
	w, m, v := slices.Clone(start), make([]float64, 12), make([]float64, 12)
	gradient := func(w []float64) (g []float64) {
		for i, x := range w {
			g = append(g, float64(i*i+1)*x)
		}
		return g
	}
	for step := 1; step <= 20; step++ {
		s.step(0.1, 0.125, 0.5, graph.Tensor{F64: gradient(s.w.F64)})
		a.Step(Step{T: step, Rate: 0.1, Decay: 0.125, Scale: 0.5, W: graph.Tensor{F64: w},
			G: graph.Tensor{F64: gradient(w)}, M: graph.Tensor{F64: m}, V: graph.Tensor{F64: v}})
		for i, x := range w {
			if !(math.Abs(s.w.F64[i]-x) <= 1e-12) {
				t.Fatalf("step %d, entry %d: got %v, AdamW %v", step, i, s.w.F64[i], x)
			}
		}
	}
	if w[5] == start[5] {
		t.Error("AdamW does nothing")
	}
}

// In float32 the vectors stay orthonormal over 100 steps, also if the gradients have few directions, sizes that span
// many powers of ten, or are 0.
func TestSOAPVectorsAreOrthonormal(t *testing.T) {
	const in, out = 40, 23
	for name, entry := range map[string]func(x float64, i, j int) float64{
		"any":           func(x float64, _, _ int) float64 { return x },
		"zeros":         func(float64, int, int) float64 { return 0 },
		"equal":         func(float64, int, int) float64 { return 1e-9 },
		"one row":       func(x float64, i, _ int) float64 { return x * float64(i/(in-1)) },
		"scaled rows":   func(x float64, i, _ int) float64 { return x * math.Pow(10, float64(3-i/4)) },
		"one direction": func(_ float64, i, j int) float64 { return math.Sin(float64(i)) * math.Cos(float64(j)) },
	} {
		for _, frequency := range []int{1, 10} {
			rng := rand.New(rand.NewPCG(7, 8))
			s := newSoaped[float32](SOAP{Beta1: 0.9, Beta2: 0.95, Frequency: frequency}, in, out)
			g := make([]float32, in*out)
			for range 100 {
				for i := range g {
					g[i] = float32(entry(rng.NormFloat64(), i/out, i%out))
				}
				s.step(0.1, 0, 1, graph.Tensor{F32: g})
			}
			for _, side := range []string{"ql", "qr"} {
				q := s.matrix(side)
				product := q.MatMul(q.Transpose())
				far := 0.0
				for i, x := range product.Data {
					want := 0.0
					if i%(q.Rows+1) == 0 {
						want = 1
					}
					far = max(far, math.Abs(x-want))
				}
				if t.Logf("%s, f = %d, %s: %.1e", name, frequency, side, far); !(far <= 1e-5) {
					t.Errorf(
						"%s, f = %d, %s: a product of two vectors is %v from that of I", name, frequency, side, far,
					)
				}
			}
			if !kernel.Finite(s.w.F32) {
				t.Errorf("%s, f = %d: the weights are not finite", name, frequency)
			}
		}
	}
}

// On Σ (A(W − W*)B)², whose curvature has other axes than the entries of W, SOAP needs fewer steps than AdamW at the
// best of several rates.
func TestSOAPFollowsRotatedCurvature(t *testing.T) {
	const in, out = 6, 5
	turned := func(n int, seed uint64) hand.Matrix[float64] { // eigenvalues 1 … 0.01
		q := hand.NewMatrix(n, n, reflected(rand.New(rand.NewPCG(seed, 3)), n)...)
		d := hand.Zeros[float64](n, n)
		for i := range n {
			d.Data[i*n+i] = math.Pow(100, -float64(i)/float64(n-1))
		}
		return q.MatMul(d).MatMul(q.Transpose())
	}
	a, b := turned(in, 1), turned(out, 2)
	target := hand.NewMatrix(in, out, normals(rand.New(rand.NewPCG(9, 9)), in*out)...)
	steps := func(rate float64, soap bool) int { // until the loss is a millionth of that at the start
		s := newSoaped[float64](SOAP{Beta1: 0.9, Beta2: 0.95, Frequency: 1}, in, out)
		w := s.w.F64
		first := 0.0
		for step := 1; step <= 3000; step++ {
			rest := a.MatMul(hand.NewMatrix(in, out, w...).Sub(target)).MatMul(b)
			loss := rest.Square().SumTokens().Sum().At(0, 0)
			if step == 1 {
				first = loss
			}
			if loss < 1e-6*first {
				return step
			}
			rate := rate * (1 - float64(step)/3000)
			g := graph.Tensor{F64: a.MatMul(rest).MatMul(b).Scale(2).Data}
			if soap {
				s.step(rate, 0, 1, g)
			} else {
				AdamW{Beta1: 0.9, Beta2: 0.95}.Step(Step{T: step, Rate: rate, Scale: 1, W: s.w, G: g, M: s.m, V: s.v})
			}
		}
		return 3001
	}
	best := map[bool]int{}
	for _, soap := range []bool{false, true} {
		best[soap] = 3001
		for _, rate := range []float64{0.003, 0.01, 0.03, 0.1, 0.3} {
			best[soap] = min(best[soap], steps(rate, soap))
		}
	}
	if t.Logf("SOAP %d steps, AdamW %d", best[true], best[false]); !(best[true] < best[false]*2/3) {
		t.Errorf("SOAP takes %d steps and AdamW %d, want a third less", best[true], best[false])
	}
}

// Without gradients the preconditioners fall to 0 and do not stay below the normal numbers, and the vectors stay.
func TestSOAPForgets(t *testing.T) {
	s := newSoaped[float32](SOAP{Beta1: 0.9, Beta2: 0.9, ShampooBeta: 0.5, Frequency: 3}, 2, 3)
	s.step(0.1, 0, 1, graph.Tensor{F32: []float32{1, 2, 3, 4, 5, 6}})
	before := s.matrix("ql")
	for range 120 {
		s.step(0.1, 0, 1, graph.Tensor{F32: make([]float32, 6)})
	}
	if l, q := s.matrix("l"), s.matrix("ql"); !l.Equal(hand.Zeros[float64](2, 2)) || !(math.Abs(q.At(0, 1)) > 0.1) {
		t.Errorf("got L %v and vectors %v, after one step %v", l.Data, q.Data, before.Data)
	}
}

// A side that stays I takes no scratch: with 5,000 columns it took 200 MB.
func TestSOAPScratch(t *testing.T) {
	s := newSoaped[float32](SOAP{Beta1: 0.9, Beta2: 0.9}, 2, 5000)
	s.step(0.1, 0, 1, graph.Tensor{F32: make([]float32, 10000)})
	if got, want := len(s.work.f32), 2*2*2+2*10000; got != want {
		t.Errorf("got scratch of %d numbers, want %d", got, want)
	}
}

// Packed matrices are updated like separate ones, to the bit.
func TestSOAPPacked(t *testing.T) {
	const in, all = 12, 44 // rows begin at multiples of 16 bytes, as in TestMuonPacked
	widths := []int{8, 20, 16}
	rng := rand.New(rand.NewPCG(3, 4))
	o := SOAP{Beta1: 0.9, Beta2: 0.95, Frequency: 2, MaxDim: 16}
	together, from := newSoaped[float32](o, in, all, widths...), 0
	var alone []*soaped
	for _, width := range widths {
		alone = append(alone, newSoaped[float32](o, in, width))
	}
	if want := []string{
		"l0", "ql0", "r0", "qr0", "l1", "ql1", "l2", "ql2", "r2", "qr2",
	}; !slices.Equal(together.names, want) {
		t.Errorf("keeps %v, want %v", together.names, want)
	}
	for range 5 {
		g := make([]float32, in*all)
		for i := range g {
			g[i] = float32(rng.NormFloat64())
		}
		together.step(0.1, 0.5, 0.5, graph.Tensor{F32: g})
		from = 0
		for i, width := range widths {
			cut := func(x []float32) (part []float32) {
				for row := range in {
					part = append(part, x[row*all+from:][:width]...)
				}
				return part
			}
			alone[i].step(0.1, 0.5, 0.5, graph.Tensor{F32: cut(g)})
			if !slices.Equal(cut(together.w.F32), alone[i].w.F32) ||
				!slices.Equal(cut(together.m.F32), alone[i].m.F32) {
				t.Errorf(
					"columns %d … %d: got %v, alone %v", from, from+width-1, cut(together.w.F32)[:3],
					alone[i].w.F32[:3],
				)
			}
			from += width
		}
	}
}
