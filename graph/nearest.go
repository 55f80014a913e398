package graph

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nearest lists the places that are most like path, for the error of one that is not there.
func nearest[T any](path string, places map[string]T) string {
	const most = 4
	names := slices.Sorted(maps.Keys(places))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance(path, a), distance(path, b)) })
	if len(names) == 0 {
		return "there is no place yet"
	}
	quoted := make([]string, min(most, len(names)))
	for i := range quoted {
		quoted[i] = fmt.Sprintf("%q", names[i])
	}
	return "the nearest of " + fmt.Sprint(len(names)) + " places are " + strings.Join(quoted, ", ")
}

// distance is how many letters have to be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, before+1, row[j]+1)
		}
	}
	return row[len(b)]
}
