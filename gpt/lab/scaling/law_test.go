package scaling

import (
	"math"
	"strings"
	"testing"
)

// The best split costs the budget, and no other split of it has a smaller loss.
func TestBest(t *testing.T) {
	for _, l := range []Law{hoffmann, besiroglu, small} {
		for _, flops := range []float64{1e9, 1e18, 5.76e23} {
			n, d, err := l.Best(flops)
			if err != nil {
				t.Fatal(err)
			}
			if !(math.Abs(6*n*d-flops) <= 1e-9*flops) {
				t.Errorf("got 6·%g·%g, want %g", n, d, flops)
			}
			for _, factor := range []float64{0.1, 0.9, 0.999, 1.001, 1.1, 10} {
				if got, least := l.At(n*factor, d/factor), l.At(n, d); !(got > least) {
					t.Errorf("%g times as many parameters: got %g, want more than %g", factor, got, least)
				}
			}
		}
	}
}

// The best sizes of two budgets grow by the published exponent of approach 3, β/(α + β) = 0.45 or 0.46.
func TestBestExponent(t *testing.T) {
	first, _, err := hoffmann.Best(1e20)
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := hoffmann.Best(1e22)
	if got := math.Log10(second/first) / 2; err != nil || !(math.Abs(got-0.455) <= 0.005) {
		t.Errorf("got the exponent %g and the error %v, want 0.455 ± 0.005", got, err)
	}
}

func TestBestRefuses(t *testing.T) {
	for want, v := range map[string]struct {
		change func(*Law)
		flops  float64
	}{
		"flops: got 0":    {func(*Law) {}, 0},
		"flops: got +Inf": {func(*Law) {}, math.Inf(1)},
		"flops: got NaN":  {func(*Law) {}, math.NaN()},
		"A: got 0":        {func(l *Law) { l.A = 0 }, 1e9},
		"B: got -1":       {func(l *Law) { l.B = -1 }, 1e9},
		"alpha: got -0.1": {func(l *Law) { l.Alpha = -0.1 }, 1e9},
		"beta: got NaN":   {func(l *Law) { l.Beta = math.NaN() }, 1e9},
	} {
		l := small
		v.change(&l)
		want += ", want a positive finite number"
		if _, _, err := l.Best(v.flops); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// An error names the field, and what cannot be found.
func TestFitRefuses(t *testing.T) {
	for want, change := range map[string]func(p []Point) []Point{
		"points: got 5, want at least 6":                     func(p []Point) []Point { return p[:5] },
		"points: got 0, want at least 6":                     func(p []Point) []Point { return nil },
		"points[3]: N: got 0, want a positive finite number": func(p []Point) []Point { p[3].N = 0; return p },
		"points[0]: D: got +Inf, want a positive finite number": func(p []Point) []Point {
			p[0].D = math.Inf(1)
			return p
		},
		"points[8]: loss: got NaN, want a positive finite number": func(p []Point) []Point {
			p[8].Loss = math.NaN()
			return p
		},
		"points[1]: loss: got -2, want a positive finite number": func(p []Point) []Point {
			p[1].Loss = -2
			return p
		},
		"N: got 1 different numbers, want at least 3: alpha cannot be":   each(func(p *Point) { p.N = 1e6 }),
		"N: got 2 different numbers, want at least 3: alpha cannot be":   each(func(p *Point) { p.N = max(p.N, 1e5) }),
		"D: got 1 different numbers, want at least 3: beta cannot be":    each(func(p *Point) { p.D = 1e6 }),
		"N and D: got a correlation of 1.0000 in logarithms, want less":  each(func(p *Point) { p.D = 20 * p.N }),
		"N and D: got a correlation of -1.0000 in logarithms, want less": each(func(p *Point) { p.D = 1e12 / p.N }),
		"search: not converged: alpha: got -300": each(func(p *Point) {
			if p.Loss = 1e300; p.N < 2e4 {
				p.Loss = 1e-300
			}
		}),
	} {
		points := change(study(small, []float64{1e4, 1e5, 1e6}, []float64{2, 20, 200}, 0, random(1)))
		if _, err := Fit(points); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Fit: got %v, want %s", err, want)
		}
		if _, err := Bootstrap(points, 100, 1); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Bootstrap: got %v, want %s", err, want)
		}
	}
}

// each returns a function that changes every point.
func each(change func(*Point)) func([]Point) []Point {
	return func(points []Point) []Point {
		for i := range points {
			change(&points[i])
		}
		return points
	}
}
