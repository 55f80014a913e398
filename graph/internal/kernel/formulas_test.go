package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// approx compares with a formula in float64.
func approx[T Float](t *testing.T, what string, got []T, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d numbers, want %d", what, len(got), len(want))
	}
	for i, w := range want {
		if g := float64(got[i]); !(math.Abs(g-w) <= tolerance*max(1, math.Abs(w))) {
			t.Errorf("%s, entry %d: got %v, want %v", what, i, g, w)
			return
		}
	}
}

// The kernels that compute a formula for each entry are correct in both types.
func TestFormulas(t *testing.T) {
	formulas[float32](t, 1e-5)
	formulas[float64](t, 1e-13)
}

func formulas[T Float](t *testing.T, tolerance float64) {
	rng := rand.New(rand.NewPCG(3, 3))
	draw := func(n int) []T { return kerneltest.Random[T](rng, n) }
	p := NewPool(2)

	const n, d, rows = 4, 3, 5
	x, table, ids := draw(n*d), draw(rows*d), []int{3, 0, 4, 3}
	y, want := make([]T, n*d), make([]float64, n*d)
	AddPositions(p, y, x, table, ids, d, 2)
	for i := range want {
		want[i] = 2*float64(x[i]) + float64(table[ids[i/d]*d+i%d])
	}
	approx(t, "positions", y, want, tolerance)
	Scale(y, x, 3)
	for i := range want {
		want[i] = 3 * float64(x[i])
	}
	approx(t, "scale", y, want, tolerance)

	a, b, w := draw(n), draw(n), []T{0.5, 0, 2, 1}
	loss, dx := 0.0, make([]float64, n)
	for i := range a {
		diff := float64(a[i]) - float64(b[i])
		loss += float64(w[i]) * diff * diff / 3.5
		dx[i] = 2 * 0.7 * float64(w[i]) * diff / 3.5
	}
	got := make([]T, n)
	SquaredErrorBackward(got, a, b, w, 0.7)
	approx(t, "squared error", []T{T(SquaredError(a, b, w))}, []float64{loss}, tolerance)
	approx(t, "squared error's gradient", got, dx, tolerance)

	without, same, unit := make([]T, n), make([]T, n), []T{1, 1, 1, 1}
	SquaredErrorBackward(without, a, b, nil, 0.7)
	SquaredErrorBackward(same, a, b, unit, 0.7)
	if SquaredError(a, b, nil) != SquaredError(a, b, unit) || !kerneltest.SameBits(without, same) {
		t.Errorf(
			"without weights: got %v and %v, want those of ones, %v and %v", SquaredError(a, b, nil), without,
			SquaredError(a, b, unit), same,
		)
	}

	if size, bytes := map[bool]int{true: 4, false: 8}[tolerance > 1e-9], Bytes(x); bytes != size*n*d {
		t.Errorf("%d numbers of %d bytes have %d bytes", n*d, size, bytes)
	}
}

// The objectives of actions and their gradients, with and without a baseline; the gradient equals differences.
func TestObjectives(t *testing.T) {
	const n, v, clip, h = 6, 4, 0.2, 1e-6
	rng := rand.New(rand.NewPCG(5, 5))
	z := kerneltest.Random[float64](rng, n*v)
	old := make([]float64, n)
	r := Rollout[float64]{
		Actions: []int{0, 3, 1, 2, 2, 0}, Returns: []float64{1, -1, 2, -0.5, 1.5, 0.5},
		Baseline: []float64{0.3, 0.2, -1, 0.4, 2, 0.1},
		Weights:  []float64{1, 0.5, 2, 0, 1, 1.5},
	}
	logProb := func(z []float64, i int) float64 {
		sum := 0.0
		for _, x := range z[i*v : (i+1)*v] {
			sum += math.Exp(x)
		}
		return z[i*v+r.Actions[i]] - math.Log(sum)
	}
	for i := range old { // ratios from e^−0.45 to e^0.45
		old[i] = logProb(z, i) - 0.18*(float64(i)-2.5)
	}
	for _, baseline := range [][]float64{nil, r.Baseline} {
		r := r
		r.Baseline = baseline
		formula := func(z []float64, ppo bool) (loss float64) {
			for i := range n {
				adv := r.Returns[i]
				if baseline != nil {
					adv -= baseline[i]
				}
				term := adv * logProb(z, i)
				if ppo {
					ratio := math.Exp(logProb(z, i) - old[i])
					term = min(ratio*adv, min(max(ratio, 1-clip), 1+clip)*adv)
				}
				loss -= r.Weights[i] * term / 6
			}
			return loss
		}
		for _, ppo := range []bool{false, true} {
			what := fmt.Sprintf("ppo %t, baseline %v", ppo, baseline != nil)
			p, lse, factor, dz := NewPool(1), make([]float64, n), make([]float64, n), make([]float64, n*v)
			var loss float64
			if ppo {
				r.Old = old
				loss = PPOClip(p, z, lse, factor, r, clip)
			} else {
				loss = Reinforce(p, z, lse, factor, r)
			}
			approx(t, what, []float64{loss}, []float64{formula(z, ppo)}, 1e-13)
			ReinforceBackward(p, dz, z, lse, factor, r.Actions, 0.7)
			want := make([]float64, n*v)
			for i := range z {
				keep := z[i]
				z[i] = keep + h
				up := formula(z, ppo)
				z[i] = keep - h
				want[i] = 0.7 * (up - formula(z, ppo)) / (2 * h)
				z[i] = keep
			}
			approx(t, what+", gradient", dz, want, 1e-8)
		}
	}
}

// The norm that divides by σ + ε has the gradients given by differences.
func TestLayerNormSigma(t *testing.T) {
	const n, d, eps, h = 5, 4, 0.1, 1e-6
	rng := rand.New(rand.NewPCG(6, 6))
	draw := func(n int) []float64 { return kerneltest.Random[float64](rng, n) }
	x, w, b, dy := draw(n*d), draw(d), draw(d), draw(n*d)
	formula := func() (y []float64) {
		for i := range n {
			row, mean, variance := x[i*d:(i+1)*d], 0.0, 0.0
			for _, v := range row {
				mean += v / d
			}
			for _, v := range row {
				variance += (v - mean) * (v - mean) / d
			}
			for j, v := range row {
				y = append(y, (v-mean)/(math.Sqrt(variance)+eps)*w[j]+b[j])
			}
		}
		return y
	}
	loss := func() (sum float64) {
		for i, y := range formula() {
			sum += y * dy[i]
		}
		return sum
	}
	p, y := NewPool(1), make([]float64, n*d)
	norm := Norm[float64]{x, w, b, make([]float64, n), make([]float64, n), eps}
	LayerNormSigma(p, y, norm)
	approx(t, "norm", y, formula(), 1e-13)
	grads := NormGrads[float64]{
		make([]float64, n*d), make([]float64, d), make([]float64, d), make([]float64, 2*Parts*d),
	}
	LayerNormSigmaBackward(p, norm, dy, grads)
	for name, c := range map[string]struct{ of, got []float64 }{
		"dx": {x, grads.X}, "dw": {w, grads.W}, "db": {b, grads.B},
	} {
		want := make([]float64, len(c.of))
		for i, keep := range c.of {
			c.of[i] = keep + h
			up := loss()
			c.of[i] = keep - h
			want[i], c.of[i] = (up-loss())/(2*h), keep
		}
		approx(t, name, c.got, want, 1e-7)
	}
}

// A row of scores becomes weights, which are 0 where the mask hides a key with any score.
func TestSoftmaxFormula(t *testing.T) {
	softmaxFormula[float32](t, 1e-6)
	softmaxFormula[float64](t, 1e-14)
}

func softmaxFormula[T Float](t *testing.T, tolerance float64) {
	hidden := T(math.Inf(-1))
	for _, mask := range [][]T{
		{0, 0, 0, 0, 0}, {0, 0, 0, hidden, hidden}, {hidden, 0, -1, 0, hidden}, {hidden, hidden, hidden, hidden, 2},
		{0, hidden, hidden, hidden, hidden},
	} {
		x, want, sum := []T{1, -2, 0.5, 3, T(math.Inf(1))}, make([]float64, 5), 0.0
		if mask[4] != hidden {
			x[4] = -1
		}
		for j := range x {
			want[j] = math.Exp(float64(x[j]) + float64(mask[j]))
			if mask[j] == hidden {
				want[j] = 0
			}
			sum += want[j]
		}
		for j := range want {
			want[j] /= sum
		}
		Softmax(x, mask)
		approx(t, fmt.Sprint("softmax with the mask ", mask), x, want, tolerance)
	}
	x := []T{1, 2}
	if Softmax(x, []T{hidden, hidden}); x[0] != 0 || x[1] != 0 {
		t.Errorf("where all is hidden: got %v, want 0", x)
	}
}

// Dropped entries are 0, kept ones 1/(1−p), the same as Factor for each, at every place in a longer mask.
func TestDropEntriesAreFactors(t *testing.T) {
	for _, p := range []float64{0, 0.1, 0.5, 1.0 / 3} {
		d := DropMask{Key: 77, Step: 3, P: p}
		kept := 0
		for i := range 4096 {
			switch f := d.Factor(i); f {
			case 0:
			case 1 / (1 - p):
				kept++
			default:
				t.Fatalf("p = %v, entry %d: got %v", p, i, f)
			}
		}
		if got := float64(kept) / 4096; math.Abs(got-(1-p)) > 0.04 {
			t.Errorf("p = %v: %v of the entries are kept", p, got)
		}
	}
}

// The dropped entries are the same bit for bit from version to version: a resumed run draws the same masks.
func TestDropMaskBits(t *testing.T) {
	var bits uint64
	d := DropMask{Key: 0x0123456789abcdef, Step: 5, P: 0.5}
	for i := range 64 {
		if d.Factor(i) > 0 {
			bits |= 1 << i
		}
	}
	if want := uint64(0xc80542b428188d71); bits != want {
		t.Errorf("got %#x, want %#x", bits, want)
	}
}
