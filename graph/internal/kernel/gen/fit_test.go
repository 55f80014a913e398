package main

import (
	"math"
	"runtime"
	"testing"
)

// fit returns the coefficients c of Σ c[k]·basis(k, x), k < n, that come closest to f in the largest weighted error on
// [from, to], and that error, by Remez's exchange: the best approximation is the one whose error takes its largest size
// n+1 times with alternating signs, so the error is levelled at n+1 points, and the points move to its extrema.
func fit(
	n int, from, to float64, f, weight func(x float64) float64, basis func(k int, x float64) float64,
) ([]float64, float64) {
	const grid = 4000
	at := func(i int) float64 { // denser at the ends, where the extrema are
		return (from+to)/2 - (to-from)/2*math.Cos(math.Pi*float64(i)/grid)
	}
	points := make([]int, n+1)
	for i := range points {
		points[i] = grid * (2*i + 1) / (2*n + 2)
	}
	var c []float64
	var worst float64
	for range 30 {
		m := make([][]float64, n+1)
		for i, p := range points {
			x := at(p)
			for k := range n {
				m[i] = append(m[i], basis(k, x)*weight(x))
			}
			m[i] = append(m[i], math.Pow(-1, float64(i)), f(x)*weight(x))
		}
		c = solve(m)[:n]
		var extrema []int
		var sizes []float64
		worst = 0
		for i := range grid + 1 {
			x, sum := at(i), 0.
			for k := range n {
				sum += c[k] * basis(k, x)
			}
			e := (sum - f(x)) * weight(x)
			worst = max(worst, math.Abs(e))
			switch last := len(sizes) - 1; {
			case last < 0 || (e > 0) != (sizes[last] > 0):
				extrema, sizes = append(extrema, i), append(sizes, e)
			case math.Abs(e) > math.Abs(sizes[last]):
				extrema[last], sizes[last] = i, e
			}
		}
		if len(extrema) < n+1 {
			break // the error no longer alternates: this is the precision of float64
		}
		for len(extrema) > n+1 { // drop the smaller end
			if math.Abs(sizes[0]) < math.Abs(sizes[len(sizes)-1]) {
				extrema, sizes = extrema[1:], sizes[1:]
			} else {
				extrema, sizes = extrema[:len(extrema)-1], sizes[:len(sizes)-1]
			}
		}
		points = extrema
	}
	return c, worst
}

// solve returns x with m[i][:n]·x = m[i][n] for all i, by elimination with row pivots.
func solve(m [][]float64) []float64 {
	n := len(m)
	for k := range n {
		best := k
		for i := k; i < n; i++ {
			if math.Abs(m[i][k]) > math.Abs(m[best][k]) {
				best = i
			}
		}
		m[k], m[best] = m[best], m[k]
		for i := range n {
			if q := m[i][k] / m[k][k]; i != k {
				for j := k; j <= n; j++ {
					m[i][j] -= q * m[k][j]
				}
			}
		}
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = m[i][n] / m[i][i]
	}
	return x
}

// TestExpPolynomial: the constants of e^r are the best ones, and as accurate as stated.
func TestExpPolynomial(t *testing.T) {
	const reach = 0.5 * math.Ln2 * 1.0001
	series := func(r float64) (q float64) { // (e^r − 1 − r)/r² without cancellation
		for k, term := 2., 0.5; k < 20; k++ {
			q += term
			term *= r / (k + 1)
		}
		return q
	}
	q, worst := fit(len(expPolynomial)-2, -reach, reach, series,
		func(r float64) float64 { return r * r * math.Exp(-r) },
		func(k int, r float64) float64 { return math.Pow(r, float64(k)) })
	if !(worst <= 3.3e-9) {
		t.Errorf("off by %.2g, stated are 3.3e-9", worst)
	}
	for k, want := range q {
		if number(expPolynomial[k+2]) != number(want) {
			t.Errorf("coefficient %d is %v, want %v", k+2, expPolynomial[k+2], want)
		}
	}
}

// TestMills: so are the coefficients of R(t).
func TestMills(t *testing.T) {
	ratio := func(u float64) float64 {
		t := millsBend/u - millsBend
		return math.Exp(t*t/2) * math.Erfc(t/math.Sqrt2) / 2
	}
	c, worst := fit(len(millsRatio), millsBend/(millsBend+millsEnd), 1, ratio,
		func(u float64) float64 { return 1 / ratio(u) },
		func(k int, u float64) float64 { return math.Pow(u, float64(k)) })
	if !(worst <= 2.6e-8) {
		t.Errorf("off by %.2g, stated are 2.6e-8", worst)
	}
	for k, want := range c {
		got := float64(math.Float32frombits(uint32(millsRatio[k])))
		// the last place of the largest: other compilers join multiplications and additions
		near := math.Abs(got-want) <= 0x1p-25
		if millsRatio[k] != number(want) && (runtime.GOARCH == "amd64" || !near) {
			t.Errorf("coefficient %d is not %v", k, want)
		}
	}
}
