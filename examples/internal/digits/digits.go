// Package digits writes numbers so that they can be read.
package digits

import "strconv"

// Thousands is n with a comma every three digits.
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
