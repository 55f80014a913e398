package graph

import (
	"fmt"
	"runtime"
	"strings"
)

// Panicked returns the error of a recovered panic: its value, and the file and line of the code that is to blame, which
// is the innermost outside of this package, nn, Gorgonia and Go's own. Call it in the deferred function that recovers.
func Panicked(r any) error {
	if p, ok := r.(*panicked); ok { // it was recovered before, on another goroutine
		return p
	}
	return &panicked{fmt.Sprintf("panic: %v%s", r, blamed())}
}

type panicked struct{ text string }

func (p *panicked) Error() string { return p.text }

// blamed returns " at FILE:LINE", or nothing if all of the stack is the library's.
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

// ours reports whether a frame is of this package, nn, Gorgonia or Go's own: none of a user's code.
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
