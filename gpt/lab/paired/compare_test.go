package paired

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// near reports an error unless got is want, relative to 1 and the sizes of both.
func near(t *testing.T, name string, got, want, tol float64) {
	t.Helper()
	if d := math.Abs(got - want); !(d <= tol*max(1e-300, math.Abs(want))) {
		t.Errorf("%s: got %.10g, want %.10g", name, got, want)
	}
}

// compare returns the Comparison of valid measures.
func compare(t *testing.T, arm, base []float64) Comparison {
	t.Helper()
	c, err := Compare(arm, base, 1)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The sleep of ten patients with two drugs, which Student (1908) published.
func TestStudentSleep(t *testing.T) {
	first := []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2}
	second := []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	c := compare(t, second, first)
	for name, v := range map[string][2]float64{
		"mean": {c.Mean, 1.58}, "t": {c.T, 4.0621}, "low": {c.Low, 0.7001142}, "high": {c.High, 2.4598858},
		"SE": {c.SE, 1.58 / 4.0621}, "SD": {c.SD, 1.58 / 4.0621 * math.Sqrt(10)},
	} {
		near(t, name, v[0], v[1], 2e-4)
	}
	// No difference is negative and one is 0, whose sign does not matter: all others are equal in 4 of 1024 choices.
	near(t, "sign-flip", c.SignFlip, 4./1024, 1e-15)
	// The patient with 4.6 hours makes them skewed.
	if c.Seeds != 10 || c.Same || c.Doubt != Skewed || c.P != c.SignFlip {
		t.Errorf("got %+v, want 10 seeds, another computation, and the p of sign flips because of the skew", c)
	}
}

// Darwin's fifteen pairs of maize, in eighths of an inch. Fisher (1935) counts 863 of 32,768 sums at or above the sum
// of the plants, 28 of them equal, and p = 0.0497 by Student's t.
func TestFisherMaize(t *testing.T) {
	cross := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	c := compare(t, cross, make([]float64, len(cross)))
	near(t, "sign-flip", c.SignFlip, 2*863./32768, 1e-15)
	near(t, "t", c.T, 2.148, 2e-4)
	near(t, "p", c.P, 0.0497, 1e-3)
}

// The factors of intervals are Student's published ones.
func TestIntervalTable(t *testing.T) {
	for n, want := range map[int]float64{2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 10: 2.262, 16: 2.131, 31: 2.042} {
		d := make([]float64, n)
		for i := range d {
			d[i] = math.Sin(float64(i)) + 0.1
		}
		c := compare(t, d, make([]float64, n))
		near(t, "half the interval", (c.High-c.Mean)/c.SE, want, 3e-4)
		near(t, "both halves", c.High-c.Mean, c.Mean-c.Low, 1e-12)
		if c.Doubt != "" {
			t.Errorf("%v: got the doubt %q", d, c.Doubt)
		}
		near(t, "p", c.P, 2*distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.CDF(-math.Abs(c.T)), 1e-12)
	}
}

// A comparison depends on the differences alone: a constant for both changes nothing, a factor scales, and exchanging
// the two turns the sign.
func TestInvariances(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 5, 9, 16, 19} {
		arm, base := make([]float64, n), make([]float64, n)
		added := [2][]float64{make([]float64, n), make([]float64, n)}
		larger := [2][]float64{make([]float64, n), make([]float64, n)}
		for i := range n {
			arm[i], base[i] = r.Float64(), r.Float64()
			added[0][i], added[1][i] = arm[i]+3, base[i]+3
			larger[0][i], larger[1][i] = arm[i]*1000, base[i]*1000
		}
		c := compare(t, arm, base)
		for name, v := range map[string]struct {
			c     Comparison
			scale float64
		}{
			"swapped": {compare(t, base, arm), -1}, "added": {compare(t, added[0], added[1]), 1},
			"larger": {compare(t, larger[0], larger[1]), 1000},
		} {
			size := math.Abs(v.scale)
			low, high := c.Low*v.scale, c.High*v.scale
			near(t, name+" mean", v.c.Mean, c.Mean*v.scale, 1e-11)
			near(t, name+" SE", v.c.SE, c.SE*size, 1e-11)
			near(t, name+" low", v.c.Low, min(low, high), 1e-10)
			near(t, name+" high", v.c.High, max(low, high), 1e-10)
			near(t, name+" t", v.c.T, c.T*v.scale/size, 1e-11)
			near(t, name+" p", v.c.P, c.P, 1e-10)
			if v.c.SignFlip != c.SignFlip {
				t.Errorf("%s sign-flip, %d seeds: got %g, want %g", name, n, v.c.SignFlip, c.SignFlip)
			}
		}
	}
}

// Differences that are equal, except for rounding, have no t: the permutation decides. Differences of 0 are the same
// computation, however small the others are.
func TestEqualDifferences(t *testing.T) {
	base := []float64{1.1, 2.3, 5.7, 3.1}
	arm := make([]float64, len(base))
	for i, x := range base {
		arm[i] = x + 0.1
	}
	c := compare(t, arm, base)
	if c.P != 0.125 || c.SignFlip != 0.125 || c.SE != 0 || c.SD != 0 || c.T != 0 || c.Low != c.Mean ||
		c.High != c.Mean || c.Same {
		t.Errorf("got %+v, want both p 2/16 and no deviation", c)
	}
	if c := compare(t, base, base); !c.Same || c.P != 1 || c.SignFlip != 1 || c.Mean != 0 || c.Seeds != 4 {
		t.Errorf("got %+v, want Same", c)
	}
	if c := compare(t, []float64{1e-200, -1e-200}, []float64{0, 0}); c.Same {
		t.Errorf("got %+v, want another computation", c)
	}
}

func TestCompareRefuses(t *testing.T) {
	nan, inf, one := math.NaN(), math.Inf(1), []float64{1, 2, 3}
	for want, v := range map[string][2][]float64{
		"seeds: got 2 of the arm and 3 of the baseline, want pairs":    {{1, 2}, one},
		"seeds: got 1, want at least 2: one seed decides nothing":      {{1}, {2}},
		"seeds: got 0, want at least 2: one seed decides nothing":      {},
		"arm[2]: got NaN, want a finite number":                        {{1, 2, nan}, one},
		"base[1]: got -Inf, want a finite number":                      {one, {1, -inf, 3}},
		"differences: got the mean +Inf and the deviation NaN":         {{1e308, 1e308}, {-1e308, -1e308}},
		"differences: got the mean 0 and the deviation +Inf, want fin": {{1e300, -1e300}, {0, 0}},
	} {
		if _, err := Compare(v[0], v[1], 1); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
