package graph

import (
	"context"

	"github.com/pkg/errors"
)

// errCollision means that two different nodes of a graph have the same 32-bit hash. Gorgonia would take them for equal
// and compute only one of them.
var errCollision = errors.New("two nodes of the graph share a hash")

// failure is the first error in building a graph, after which nothing is built.
type failure struct {
	err     error
	failed  *failedOp       // the operation that caused err; nil for any other error
	context context.Context // building stops when it ends; nil means none
}

// fail records an error of the place at scope.
func (f *failure) fail(scope, format string, args ...any) {
	if f.err == nil {
		f.err = errors.Errorf("%s"+format, append([]any{prefix(scope)}, args...)...)
	}
}

// failedOp is an operation that could not be built.
type failedOp struct {
	scope, what string // the scope of its first operand; the operation and its operands
	cause       error
}

func (f *failedOp) errorAt(scope string) error {
	return errors.Wrapf(errors.Cause(f.cause), "%s%s", prefix(scope), f.what)
}

// blame assigns a failed operation to the layer at scope, in which it failed: its operand may come from the layer
// before.
func (f *failure) blame(scope string) {
	if f.failed != nil && !within(f.failed.scope, scope) {
		f.failed.scope, f.err = scope, f.failed.errorAt(scope)
	}
}

// interrupted returns the error of the graph after its context has ended.
func (f *failure) interrupted() error {
	if f.context == nil || f.context.Err() == nil {
		return nil
	}
	if f.err == nil {
		f.err = errors.Wrap(context.Cause(f.context), "building was stopped")
	}
	return f.err
}
