package main

import (
	"fmt"
	"math"
)

// fit returns the coefficients c of Σ c[k]·basis(k, x), k < n, that come closest to f in the largest weighted error on
// [from, to], and that error, by Remez's exchange: the best approximation is the one whose error takes its largest size
// n+1 times with alternating signs, so the error is levelled at n+1 points, and the points move to its extrema.
func fit(n int, from, to float64, f, weight func(x float64) float64, basis func(k int, x float64) float64) ([]float64, float64) {
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
		for len(extrema) > n+1 { // of too many, the smaller end goes
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

// within stops the program if a fit is worse than its documentation says.
func within(worst, stated float64) {
	if !(worst <= stated) {
		panic(fmt.Sprintf("a fit is off by %.2g, stated are %.2g", worst, stated))
	}
}
