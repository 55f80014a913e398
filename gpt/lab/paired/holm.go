package paired

import (
	"cmp"
	"slices"
)

// holm adjusts the p of the arms of a study by Holm's step-down: the smallest of m is multiplied by m, the next one by
// m − 1 and so on, and none is adjusted to less than one before it.
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for i, arm := range order {
		largest = max(largest, min(1, float64(len(p)-i)*p[arm]))
		adjusted[arm] = largest
	}
	return adjusted
}
