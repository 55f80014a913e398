package program

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Thousands returns n with a comma every three digits.
func Thousands[T int | int64](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	head := 0
	if n < 0 {
		head = 1 // the sign
	}
	for i := len(s) - 3; i > head; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Round rounds x to a number of digits after the point. It never returns a negative zero, which would print a sign.
func Round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale)/scale + 0
}

// Significant returns x with a number of significant digits, and a comma every three digits before the point, never
// with an exponent.
func Significant(x float64, digits int) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	whole, fraction, _ := strings.Cut(strconv.FormatFloat(rounded, 'f', -1, 64), ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil && n != 0 {
		whole = Thousands(n)
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}

// Median returns the median of the list, the mean of the two middle values if its length is even, or 0 if it is empty.
func Median(list []float64) float64 {
	n := len(list)
	if n == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return (list[(n-1)/2] + list[n/2]) / 2
}

// Quantile returns the number that is greater than the fraction q of the list, which is at least 0 and less than 1, or
// 0 if the list is empty.
func Quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[int(q*float64(len(list)))]
}
