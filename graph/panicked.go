package graph

import (
	"fmt"
	"runtime"
	"strings"
)

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
