package graph

import "github.com/pkg/errors"

// Err returns the first error in building, with a stack.
func (g *Graph) Err() error {
	if !g.exists() {
		return g.made("").err
	}
	return g.err
}

// exists reports whether g was made, and is not nil or a literal.
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

// failedOp is an operation that could not be built.
type failedOp struct {
	scope, what string // where its first operand is from; the operation and its operands
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

// blame makes an operation that failed in the layer at scope one of that layer: its operand may be from the layer
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
