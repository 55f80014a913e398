package graph

import (
	"context"
	"fmt"
	"runtime"
	"strings"

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

// Panicked returns the error of a recovered panic: its value, and the file and line of the code that caused it. That is
// the innermost frame outside this package, nn, Gorgonia and Go's own code. Call Panicked in the deferred function that
// recovers.
func Panicked(r any) error {
	if p, ok := r.(*panicked); ok { // it was recovered before, on another goroutine
		return p
	}
	return &panicked{fmt.Sprintf("panic: %v%s", r, blamed())}
}

type panicked struct{ text string }

func (p *panicked) Error() string { return p.text }

// blamed returns " at FILE:LINE", or "" if the entire stack belongs to the library.
func blamed() string {
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(2, stack[:])])
	goroot, thrown := "", false
	for {
		f, more := frames.Next()
		if f.Function == "runtime.gopanic" {
			goroot, thrown = strings.TrimSuffix(f.File, "runtime/panic.go"), true
		}
		if thrown && !ours(f, goroot) {
			return fmt.Sprintf(" at %s:%d", f.File, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// ours reports whether a frame belongs to this package, nn, Gorgonia or Go's own code rather than to the user's.
func ours(f runtime.Frame, goroot string) bool {
	const module = "github.com/pedestrian-ml/pedestrian/"
	if strings.HasPrefix(f.Function, "runtime.") || goroot != "" && strings.HasPrefix(f.File, goroot) {
		return true
	}
	if strings.HasSuffix(f.File, "_test.go") {
		return false
	}
	for _, prefix := range []string{module + "graph.", module + "graph/", module + "nn.", "gorgonia.org/"} {
		if strings.HasPrefix(f.Function, prefix) {
			return true
		}
	}
	return false
}
