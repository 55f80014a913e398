package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
)

// nearest lists the places most similar to path, for the error of a place that does not exist.
func nearest[T any](path string, places map[string]T) string {
	if len(places) == 0 {
		return "there are no places yet"
	}
	list := spelling.Nearest(path, slices.Sorted(maps.Keys(places)), 4)
	for i, name := range list {
		list[i] = fmt.Sprintf("%q", name)
	}
	return "the nearest of " + fmt.Sprint(len(places)) + " places are " + strings.Join(list, ", ")
}
