package graph

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
)

// source is the scope and the operation that created a node. Helper nodes of an operation, such as the axes stretched
// for a broadcast, and the backward pass have none: the nodes with a source are the forward pass in terms of Expr.
type source struct{ scope, op string }

func (s source) leaf() bool { return s.op == "" }

// within reports whether path is the scope or inside it; everything is inside "".
func within(path, scope string) bool {
	return scope == "" || path == scope || strings.HasPrefix(path, scope+".")
}

// parent returns the surrounding scope of path. A numbered scope, such as "h.3", counts as one level: "h" alone is no
// scope.
func parent(path string) string {
	dot := strings.LastIndexByte(path, '.')
	if dot >= 0 && dot+1 < len(path) && path[dot+1] >= '0' && path[dot+1] <= '9' {
		dot = strings.LastIndexByte(path[:dot], '.')
	}
	return path[:max(0, dot)]
}

func prefix(scope string) string {
	if scope == "" {
		return ""
	}
	return scope + ": "
}

func prefixed(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func hashName(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

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
