package graph

import "github.com/pkg/errors"

// Err is the first error in building, with a stack.
func (g *Graph) Err() error {
	if !g.exists() {
		return g.made("").err
	}
	return g.err
}

// exists says whether g was made, and is not nil or a literal.
func (g *Graph) exists() bool { return g != nil && g.g != nil }

// made is g, or one in its place that has failed, so that what is built on it takes the error to Compile.
func (g *Graph) made(scope string) *Graph {
	if g.exists() {
		return g
	}
	failed := New(Float64, 0)
	failed.fail(scope, "no graph: New, Build, Sibling or Outline makes one")
	return failed
}

func (g *Graph) fail(scope, format string, args ...any) {
	if g.err == nil {
		g.err = errors.Errorf("%s"+format, append([]any{prefix(scope)}, args...)...)
	}
}

func prefix(scope string) string {
	if scope == "" {
		return ""
	}
	return scope + ": "
}
