package structured

import (
	"cmp"
	"math"
)

// Distance returns the entrywise 1-norm of a − x, Σ |a − x| (22). It is not the norm of an inner product: Theorem 3.1
// does not apply to it (errata C11). It is an error unless both are (n, n) and finite.
func Distance(a, x [][]float64) (float64, error) {
	if err := cmp.Or(checkSquare("a", a, len(a)), checkSquare("x", x, len(a))); err != nil {
		return 0, err
	}
	return distance(a, x), nil
}

func distance(a, x [][]float64) (sum float64) {
	for i, row := range a {
		for j, v := range row {
			sum += math.Abs(v - x[i][j])
		}
	}
	return sum
}

// Dimension returns the number of entries of a band, n1 in the paper: n on the diagonal and 2(n − i) at distance i,
//
//	n + 2 Σ_{i=1..w} (n − i) = (w + 1)(2n − w) − n
//
// for w < n; a larger w counts as n − 1 (errata C9).
func Dimension(n, w int) int {
	w = clamp(n, w)
	return (w+1)*(2*n-w) - n
}

// Project returns the band matrix nearest to a: a on the band, 0 elsewhere. The norm is a sum over the entries, and
// each entry can be minimized separately; that, and not the theorem about Hilbert spaces, is why the result is unique
// (errata C11). It is an error unless a is (n, n) and finite.
func Project(a [][]float64, w int) ([][]float64, error) {
	if err := checkSquare("a", a, len(a)); err != nil {
		return nil, err
	}
	return project(a, w), nil
}

func project(a [][]float64, w int) [][]float64 {
	w = clamp(len(a), w)
	x := zeros(len(a))
	for i, row := range x {
		from, to := max(i-w, 0), min(i+w, len(a)-1)
		copy(row[from:to+1], a[i][from:to+1])
	}
	return x
}

// OffBand returns the distance from a to the nearest band matrix, the part of a outside the band: Σ |a| over |i − j| >
// w. It is an error unless a is (n, n) and finite.
func OffBand(a [][]float64, w int) (float64, error) {
	if err := checkSquare("a", a, len(a)); err != nil {
		return 0, err
	}
	return offBand(a, w), nil
}

func offBand(a [][]float64, w int) (sum float64) {
	w = clamp(len(a), w)
	for i, row := range a {
		for j, v := range row {
			if j < i-w || j > i+w {
				sum += math.Abs(v)
			}
		}
	}
	return sum
}

// Bound returns the largest distance of two matrices B + E with B on the band and in [0, 1] and |e| ≤ ε everywhere,
//
//	(1 + 2ε) n1 + 2ε n2
//
// with n1 entries on the band and n2 outside it. The paper has n1 + ε n2, neglecting that errors also lie on the band
// and may have opposite signs (errata C10).
func Bound(n, w int, epsilon float64) float64 {
	n1 := Dimension(n, w)
	return (1+2*epsilon)*float64(n1) + 2*epsilon*float64(n*n-n1)
}
