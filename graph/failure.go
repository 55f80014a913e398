package graph

import "github.com/pkg/errors"

// Err returns the first error in building, with a stack trace.
func (g *Graph) Err() error {
	if !g.exists() {
		return g.orFailed("").err
	}
	return g.err
}

// exists reports whether g was created by a constructor, and is neither nil nor a literal.
func (g *Graph) exists() bool { return g != nil && g.g != nil }

// orFailed returns g if it exists. Otherwise it returns a new graph that has failed, so that Compile returns the error
// of everything built on it.
func (g *Graph) orFailed(scope string) *Graph {
	if g.exists() {
		return g
	}
	failed := New(Float64, 0)
	failed.fail(scope, "no graph: create one with New, Build, Sibling or Outline")
	return failed
}

func (g *Graph) fail(scope, format string, args ...any) {
	if g.err == nil {
		g.err = errors.Errorf("%s"+format, append([]any{prefix(scope)}, args...)...)
	}
}

// failedOp is an operation that could not be built.
type failedOp struct {
	scope, what string // the scope of its first operand; the operation and its operands
	cause       error
}

func (f *failedOp) err(scope string) error {
	return errors.Wrapf(errors.Cause(f.cause), "%s%s", prefix(scope), f.what)
}

func (g *Graph) failOp(x Expr, op string, operands []Expr, cause error) {
	if g.err == nil {
		g.failed = &failedOp{x.scope, op + " " + describe(operands), cause}
		g.err = g.failed.err(x.scope)
	}
}

// blame assigns a failed operation to the layer at scope, in which it failed: its operand may come from the layer
// before.
func (g *Graph) blame(scope string) {
	if g.failed != nil && !within(g.failed.scope, scope) {
		g.failed.scope, g.err = scope, g.failed.err(scope)
	}
}

func prefix(scope string) string {
	if scope == "" {
		return ""
	}
	return scope + ": "
}
