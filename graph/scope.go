package graph

import "fmt"

// Scope is a place in a Graph: the prefix of the names that a layer declares there.
type Scope struct {
	g    *Graph
	path string
}

// Root returns the scope without a prefix.
func (g *Graph) Root() Scope { return Scope{g: g.orFailed("")} }

// Graph returns the graph of s.
func (s Scope) Graph() *Graph { return s.g.orFailed(s.path) }

// Path returns the name of the place, such as "h.3.attn".
func (s Scope) Path() string { return s.path }

// Sub returns the place inside s with the given name: "h.3" → "h.3.attn".
func (s Scope) Sub(format string, args ...any) Scope {
	return Scope{s.g, s.full(fmt.Sprintf(format, args...))}
}

func (s Scope) full(name string) string { return prefixed(s.path, name) }

// Try calls f, which may be user code, and reports whether it returned. A panic in it becomes an error of this place,
// with the file and line of the code that panicked. An operation that fails in it belongs to this place or to one
// inside it.
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

// Failf records an error of this place, such as "h.3.attn: 5 heads do not divide 32 features". The Graph keeps only its
// first error.
func (s Scope) Failf(format string, args ...any) { s.Graph().fail(s.path, format, args...) }
