package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// ulps returns the distance of got from the exact value in units of the last place of a normal float32 there.
func ulps(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e, -125)-24)
}

// TestExpIsAccurate walks through all float32 numbers in steps of a prime.
func TestExpIsAccurate(t *testing.T) {
	const limit = 1.2
	worst, at := 0.0, float32(0)
	for bits := uint64(0); bits < 1<<32; bits += 4993 {
		x := math.Float32frombits(uint32(bits))
		want := math.Exp(float64(x))
		if math.IsNaN(want) || want < 0x1p-126 || want > math.MaxFloat32 {
			continue
		}
		if e := ulps(Exp(x), want); !(e <= worst) {
			worst, at = e, x
		}
	}
	for x := float32(-87.33); x < 88.72; x += 0.00037 { // where the numbers above are sparse
		if e := ulps(Exp(x), math.Exp(float64(x))); !(e <= worst) {
			worst, at = e, x
		}
	}
	t.Logf("worst: %.3f units in the last place, at %v", worst, at)
	if !(worst <= limit) {
		t.Errorf("%.3f units in the last place at %v, want ≤ %v", worst, at, limit)
	}
}

func TestExpAtTheEnds(t *testing.T) {
	inf := float32(math.Inf(1))
	next := func(x float32, to float32) float32 { return math.Nextafter32(x, to) }
	largest := float32(88.72283) // the largest whose exponential is a float32
	for _, c := range []struct{ x, want float32 }{
		{0, 1}, {float32(math.Copysign(0, -1)), 1}, {0x1p-149, 1}, {-0x1p-149, 1},
		{inf, inf}, {-inf, 0}, {math.MaxFloat32, inf}, {-math.MaxFloat32, 0},
		{next(largest, inf), inf}, {-87.4, 0}, {-103, 0},
	} {
		if got := Exp(c.x); got != c.want {
			t.Errorf("exp(%v): got %v, want %v", c.x, got, c.want)
		}
	}
	if got := Exp(largest); !(got < inf && got > 3.4e38) {
		t.Errorf("exp(%v): got %v, want a finite number", largest, got)
	}
	if got := Exp(float32(math.NaN())); got == got {
		t.Errorf("exp(NaN): got %v", got)
	}
	if got := Exp(1.5); got != math.Exp(1.5) && got != 4.4816890703380645 {
		t.Errorf("in float64: got %v, want %v", got, math.Exp(1.5))
	}
}

// TestExpIsMonotonic: a softmax must not give a larger score a smaller weight by more than the last place.
func TestExpIsMonotonic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		x := float32(rng.Float64()*170 - 85)
		y := x + float32(rng.Float64())*1e-3
		if a, b := Exp(x), Exp(y); !(a <= b*(1+0x1p-22)) {
			t.Fatalf("exp(%v) = %v, exp(%v) = %v", x, a, y, b)
		}
	}
}

// TestTanh: within 2 units in the last place of float32 at 1 of the exact one, and of x near 0; the ends are ±1.
func TestTanh(t *testing.T) {
	const ulp = 1.0 / (1 << 23)
	for x := float32(-20); x < 20; x += 0.00137 {
		want := math.Tanh(float64(x))
		allowed := ulp
		if math.Abs(float64(x)) < 0.15 {
			allowed = 2 * ulp * math.Abs(want)
		}
		if got := Tanh(x); !(math.Abs(float64(got)-want) <= allowed) {
			t.Fatalf("tanh %v: got %v, want %v", x, got, want)
		}
	}
	inf := float32(math.Inf(1))
	if Tanh(inf) != 1 || Tanh(-inf) != -1 || Tanh(float32(0)) != 0 ||
		Tanh(float32(math.NaN())) == Tanh(float32(math.NaN())) {
		t.Errorf(
			"got %v, %v, %v and %v at ∞, −∞, 0 and NaN", Tanh(inf), Tanh(-inf), Tanh(float32(0)),
			Tanh(float32(math.NaN())),
		)
	}
}

func BenchmarkExp(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := kerneltest.Random[float32](rng, 4096)
	var sum float32
	for b.Loop() {
		for _, v := range x {
			sum += Exp(v)
		}
	}
	if sum == 0 {
		b.Fatal("no sum")
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/4096, "ns/entry")
}
