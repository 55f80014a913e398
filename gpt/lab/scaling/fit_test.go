package scaling

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The constants that Hoffmann et al. (2022) and Besiroglu et al. (2024) report, and a law of small models.
var (
	hoffmann  = Law{E: 1.69, A: 406.4, B: 410.7, Alpha: 0.34, Beta: 0.28}
	besiroglu = Law{E: 1.8172, A: 482.01, B: 2085.43, Alpha: 0.3478, Beta: 0.3658}
	small     = Law{E: 1.2, A: 30, B: 60, Alpha: 0.3, Beta: 0.35}
)

// study returns the losses of a law, with relative noise σ, for all sizes and all numbers of tokens per parameter.
func study(l Law, sizes, ratios []float64, sigma float64, r *rand.Rand) (points []Point) {
	for _, n := range sizes {
		for _, ratio := range ratios {
			points = append(points, Point{n, n * ratio, l.At(n, n*ratio) * math.Exp(sigma*r.NormFloat64())})
		}
	}
	return points
}

// random returns a source of noise.
func random(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 1))
}

// noisy returns a study of sixteen points.
func noisy(seed uint64) []Point {
	return study(hoffmann, []float64{1e7, 1e8, 1e9, 1e10}, []float64{4, 20, 100, 500}, 0.005, random(seed))
}

// near reports an error unless the numbers of the laws agree.
func near(t *testing.T, name string, got, want Law, tol float64) {
	t.Helper()
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"E", got.E, want.E}, {"A", got.A, want.A}, {"B", got.B, want.B}, {"alpha", got.Alpha, want.Alpha},
		{"beta", got.Beta, want.Beta},
	} {
		if !(math.Abs(v.got-v.want) <= tol*math.Abs(v.want)) {
			t.Errorf("%s: %s: got %.12g, want %.12g", name, v.name, v.got, v.want)
		}
	}
}

// fit returns the law of valid points.
func fit(t *testing.T, points []Point) Law {
	t.Helper()
	l, err := Fit(points)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Losses without noise give back their law: Hoffmann et al.'s at the sizes of their models, and others.
func TestFitRecoversLaws(t *testing.T) {
	for name, l := range map[string]Law{
		"Hoffmann": hoffmann, "Besiroglu": besiroglu, "small": small, "no floor in sight": {0.01, 30, 60, 0.2, 0.25},
		"steep": {3, 1e11, 4e3, 1.5, 0.6}, "flat": {0.5, 4, 6, 0.07, 0.09},
	} {
		near(
			t, name, fit(t, study(l, []float64{44e6, 2.5e8, 1.4e9, 16.2e9}, []float64{3, 20, 150}, 0, random(1))), l,
			1e-6,
		)
		near(
			t, name+", six points", fit(t, study(l, []float64{1e5, 1e6, 1e7}, []float64{3, 50}, 0, random(1))), l, 1e-6,
		)
	}
}

// The law is a minimum of the published sum, which is computed here from the losses themselves, among near laws.
func TestFitIsMinimum(t *testing.T) {
	points, r := noisy(2), random(3)
	sum := func(l Law) (sum float64) {
		for _, p := range points {
			if x := math.Abs(math.Log(p.Loss) - math.Log(l.At(p.N, p.D))); x <= 1e-3 {
				sum += x * x / 2
			} else {
				sum += 1e-3 * (x - 1e-3/2)
			}
		}
		return sum
	}
	l := fit(t, points)
	least := sum(l)
	for i := range 4000 {
		size := math.Pow(10, -float64(i%6))
		factor := func() float64 { return math.Exp(size * r.NormFloat64()) }
		other := Law{l.E * factor(), l.A * factor(), l.B * factor(), l.Alpha * factor(), l.Beta * factor()}
		if got := sum(other); !(got >= least) {
			t.Errorf("%+v: got the sum %g, want at least the %g of %+v", other, got, least, l)
		}
	}
}

// A single wrong loss hardly changes the law, as it would change the law of least squares.
func TestFitIgnoresOutlier(t *testing.T) {
	points := study(small, []float64{1e4, 1e5, 1e6, 1e7}, []float64{2, 20, 200}, 0, random(1))
	points[5].Loss *= 1.5
	near(t, "outlier", fit(t, points), small, 1e-2)
}

// The gradient agrees with differences, also within δ of the losses.
func TestGradient(t *testing.T) {
	const h = 1e-7
	p, r := newProblem(noisy(4)), random(5)
	x, err := p.fit(starts())
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		at := x
		for i := range at {
			at[i] += 1e-3 * r.NormFloat64()
		}
		got := p.sum(at)
		for i := range at {
			var unit vector
			unit[i] = 1
			want := (p.sum(at.plus(h, unit)).value - p.sum(at.plus(-h, unit)).value) / (2 * h)
			if d := math.Abs(got.gradient[i] - want); !(d <= 1e-6) {
				t.Errorf("variable %d: got %.9f, want %.9f", i, got.gradient[i], want)
			}
		}
	}
}

// A search that ends at a slope, or nowhere, is an error.
func TestNotConverged(t *testing.T) {
	p := newProblem(noisy(6))
	p.loss[3] = math.NaN()
	want := "search: not converged: got the derivative +Inf, want at most 1e-05"
	if _, err := p.fit(starts()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// All starts lead to the same minimum.
func TestStarts(t *testing.T) {
	p := newProblem(noisy(6))
	want, err := p.fit(starts())
	if err != nil {
		t.Fatal(err)
	}
	for _, start := range starts() {
		got, err := p.fit([]vector{start})
		if d := got.plus(-1, want).largest(); err != nil || !(d <= 1e-6) {
			t.Errorf("start %v: got %v and the error %v, want %v", start, got, err, want)
		}
	}
}

// The order of the points changes no bit, and the caller's order remains.
func TestOrder(t *testing.T) {
	points := noisy(7)
	points = append(points, points[0], points[3]) // two are equal, and one differs in its loss alone
	points[17].Loss *= 1.01
	want, err := Bootstrap(points, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := random(8)
	for range 3 {
		r.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		first := points[0]
		got, err := Bootstrap(points, 100, 1)
		if err != nil || got.Law != want.Law || got.Intervals != want.Intervals || fit(t, points) != want.Law {
			t.Errorf("got %+v and the error %v, want %+v", got.Law, err, want.Law)
		}
		if points[0] != first {
			t.Errorf("got the first point %v, want %v", points[0], first)
		}
	}
}

// Other units of N, D and the loss change the law's terms by their factors alone.
func TestUnits(t *testing.T) {
	points := noisy(9)
	l := fit(t, points)
	for i := range points {
		points[i].N, points[i].D, points[i].Loss = points[i].N*1e-6, points[i].D*12, points[i].Loss/math.Ln2
	}
	want := Law{
		l.E / math.Ln2, l.A / math.Ln2 * math.Pow(1e-6, l.Alpha), l.B / math.Ln2 * math.Pow(12, l.Beta), l.Alpha,
		l.Beta,
	}
	near(t, "units", fit(t, points), want, 1e-6)
}
