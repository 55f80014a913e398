package scaling

import (
	"math"
	"os"
	"strings"
	"testing"
)

// bootstrap returns the ensemble of valid points.
func bootstrap(t *testing.T, points []Point, resamples int, seed uint64) Ensemble {
	t.Helper()
	e, err := Bootstrap(points, resamples, seed)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// predict returns a valid prediction.
func predict(t *testing.T, e Ensemble, n, d float64) Interval {
	t.Helper()
	i, err := e.Predict(n, d)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// The intervals contain the truth, and a run of a three times larger model, in 90 to 99 % of the studies.
func TestIntervalsCover(t *testing.T) {
	studies, resamples, spread := 6, 100, 3*math.Sqrt(0.05*0.95/6)
	if os.Getenv("NIGHTLY") != "" {
		studies, resamples, spread = 200, 400, 0
	}
	wide := []float64{1e7, 1e8, 1e9, 1e10}
	for name, v := range map[string]struct {
		law           Law
		sizes, ratios []float64
	}{
		"9 points":  {small, []float64{1e4, 1e5, 1e6}, []float64{2, 20, 200}},
		"16 points": {hoffmann, wide, []float64{4, 20, 100, 500}},
		"20 points": {small, []float64{1e4, 3e4, 1e5, 3e5, 1e6}, []float64{2, 8, 32, 128}},
	} {
		r := random(uint64(len(name)))
		names, counts := []string{"E", "A", "B", "alpha", "beta", "new run"}, [6]int{}
		for i := range studies {
			e := bootstrap(t, study(v.law, v.sizes, v.ratios, 0.005, r), resamples, uint64(i))
			n := 3 * v.sizes[len(v.sizes)-1]
			loss := v.law.At(n, 20*n) * math.Exp(0.005*r.NormFloat64())
			for k, covered := range []bool{
				e.Intervals.E.Contains(v.law.E), e.Intervals.A.Contains(v.law.A), e.Intervals.B.Contains(v.law.B),
				e.Intervals.Alpha.Contains(v.law.Alpha), e.Intervals.Beta.Contains(v.law.Beta),
				predict(t, e, n, 20*n).Contains(loss),
			} {
				if covered {
					counts[k]++
				}
			}
		}
		for k, count := range counts {
			share := float64(count) / float64(studies)
			t.Logf("%s: %s is covered in %.3f of %d studies", name, names[k], share, studies)
			if !(share >= 0.90-spread) || !(share <= 0.99+spread) {
				t.Errorf("%s: %s is covered in %.3f of %d studies, want 0.90 to 0.99", name, names[k], share, studies)
			}
		}
	}
}

// The seed determines the intervals. Another seed and more resamples change them little.
func TestSeed(t *testing.T) {
	points := noisy(1)
	e, same, other := bootstrap(t, points, 400, 5), bootstrap(t, points, 400, 5), bootstrap(t, points, 400, 6)
	first, second := predict(t, e, 1e11, 1e12), predict(t, other, 1e11, 1e12)
	if e.Intervals != same.Intervals || first != predict(t, same, 1e11, 1e12) {
		t.Errorf("got %+v, want %+v", same.Intervals, e.Intervals)
	}
	if width := first.High - first.Low; first == second || !(math.Abs(first.Low-second.Low) <= width/5) {
		t.Errorf("seed 6: got %+v, want another interval near %+v", second, first)
	}
	if e.Law != fit(t, points) {
		t.Errorf("got %+v, want the law of Fit", e.Law)
	}
}

// The interval of a new run is wider than the noise, and as wide as it where the points lie.
func TestPredictIncludesNoise(t *testing.T) {
	e := bootstrap(t, noisy(2), 400, 1)
	for _, v := range []struct{ n, low, high float64 }{{1e9, 2 * 0.005, 8 * 0.005}, {1e14, 8 * 0.005, 1}} {
		i := predict(t, e, v.n, 20*v.n)
		if width := math.Log(i.High / i.Low); !(width >= v.low && width <= v.high) || !i.Contains(e.At(v.n, 20*v.n)) {
			t.Errorf("N = %g: got %+v, want its logarithm %g to %g wide", v.n, i, v.low, v.high)
		}
	}
	quiet := bootstrap(t, study(hoffmann, []float64{1e7, 1e8, 1e9}, []float64{4, 20, 100}, 0, random(1)), 100, 1)
	if i := predict(t, quiet, 1e10, 2e11); !(i.High-i.Low <= 1e-9) {
		t.Errorf("without noise: got %+v, want equal ends", i)
	}
}

// The five smallest residuals are left out, and the others enlarged by the published quantiles 2.571 and 1.960.
func TestNoise(t *testing.T) {
	got := noise([]float64{-7, 1, 0.3, -0.2, 4, 0, -5, 0.1, -6, 3})
	for i, want := range []float64{3, 4, -5, -6, -7} {
		if len(got) != 5 || !(math.Abs(got[i]-want*2.5706/1.9600) <= 1e-3) {
			t.Errorf("got %v, want number %d to be %g·2.571/1.960", got, i, want)
		}
	}
}

func TestBootstrapRefuses(t *testing.T) {
	for want, resamples := range map[string]int{
		"resamples: got 99, want 100 to 100000": 99, "resamples: got 100001, want 100 to 100000": 100001,
	} {
		if _, err := Bootstrap(noisy(1), resamples, 1); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	want := "resamples: got no law of "
	wild := study(small, []float64{1e4, 1e5, 1e6}, []float64{2, 20, 80, 200}, 3, random(0))
	if _, err := Bootstrap(wild, 100, 1); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	e := bootstrap(t, noisy(1), 100, 1)
	for want, v := range map[string]struct {
		e    Ensemble
		n, d float64
	}{
		"N: got 0, want a positive finite number":       {e, 0, 1},
		"D: got NaN, want a positive finite number":     {e, 1, math.NaN()},
		"laws: got none, want an Ensemble of Bootstrap": {Ensemble{}, 1, 1},
	} {
		if _, err := v.e.Predict(v.n, v.d); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
