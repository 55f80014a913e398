package parts

import "github.com/pedestrian-ml/pedestrian/graph"

// Make is what f makes for the part of that kind and name at s. A panic in it is an error of the graph that names both.
func Make[T any](s graph.Scope, kind string, name Name, f func() T) (made T) {
	defer func() {
		if r := recover(); r != nil {
			s.Failf("%s %q: panic: %v", kind, string(name), r)
		}
	}()
	return f()
}
