package graph

import "fmt"

// Scope is a place in a Graph: the prefix of the names of what a layer declares there.
type Scope struct {
	g    *Graph
	path string
}

// Root returns the scope without a prefix.
func (g *Graph) Root() Scope { return Scope{g: g.made("")} }

// Graph returns the graph that s is a place in.
func (s Scope) Graph() *Graph { return s.g.made(s.path) }

// Path returns the name of the place, such as "h.3.attn".
func (s Scope) Path() string { return s.path }

// Sub returns the place inside s with the given name: "h.3" → "h.3.attn".
func (s Scope) Sub(format string, args ...any) Scope {
	return Scope{s.g, s.full(fmt.Sprintf(format, args...))}
}

func (s Scope) full(name string) string { return prefixed(s.path, name) }

func prefixed(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Try calls f, which may be a user's, and reports whether it returned. A panic in it is an error of this place, with
// the file and line of the code that panicked; an operation that fails in it is of this place or of one inside it.
func (s Scope) Try(f func()) (ok bool) {
	before := s.g.Err()
	defer func() {
		if r := recover(); r != nil {
			s.Failf("%v", Panicked(r))
		} else if before == nil && s.g.Err() != nil {
			s.g.blame(s.path)
		}
	}()
	f()
	return true
}

// Failf records an error of this place; the first one of the Graph counts: "h.3.attn: 5 heads do not divide 32
// features".
func (s Scope) Failf(format string, args ...any) { s.Graph().fail(s.path, format, args...) }
