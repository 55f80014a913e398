// Package spelling finds the correct name for a misspelt one.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns at most n of the names: those with the smallest Distance to word, the nearest first. Names with the
// same distance keep their order.
func Nearest(word string, names []string, n int) []string {
	byDistance := func(a, b string) int { return cmp.Compare(Distance(word, a), Distance(word, b)) }
	sorted := slices.SortedStableFunc(slices.Values(names), byDistance)
	return sorted[:min(n, len(sorted))]
}

// Meant returns the name nearest to word if fewer than three bytes and at most half of them differ. Otherwise it
// returns
// the first name that begins with a word of two bytes or more, or contains a word of three or more, or "".
func Meant(word string, names []string) string {
	for _, name := range Nearest(word, names, 1) {
		if d := Distance(word, name); d < 3 && 2*d <= len(word) {
			return name
		}
	}
	for _, name := range names {
		if len(word) > 1 && strings.HasPrefix(name, word) {
			return name
		}
	}
	for _, name := range names {
		if len(word) > 2 && strings.Contains(name, word) {
			return name
		}
	}
	return ""
}

// Hint returns "; did you mean NAME?" for the name that Meant finds, and otherwise "". It takes capital letters and
// hyphens for slips.
func Hint(word string, names []string) string {
	const longest = 64 // of a word that can be a slip
	word = strings.ToLower(strings.ReplaceAll(word[:min(len(word), longest)], "-", "_"))
	lower := make([]string, len(names))
	for i, name := range names {
		lower[i] = strings.ToLower(name)
	}
	if i := slices.Index(lower, Meant(word, lower)); i >= 0 {
		return "; did you mean " + names[i] + "?"
	}
	return ""
}

// Distance returns the number of bytes to insert, delete or replace to turn a into b (Levenshtein 1966).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
