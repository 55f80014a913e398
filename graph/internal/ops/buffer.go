package ops

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
)

// buffer is memory that one of our operations fills: its result, a further result, state for its backward operation, or
// scratch. Memory is bound to it before the operation runs.
type buffer struct {
	size int
	part bool // needed only if the operation that returns it is part of the program

	f32 []float32
	f64 []float64
}

// Len returns the number of entries.
func (b *buffer) Len() int { return b.size }

// Optional reports whether the buffer is needed only if an operation of the program returns it.
func (b *buffer) Optional() bool { return b.part }

// Bind sets the memory for the operations that run next.
func (b *buffer) Bind(n plan.Numbers) { b.f32, b.f64 = n.F32, n.F64 }

// of returns the numbers of b in the current program, nil if nothing reads them.
func of[T kernel.Float](b *buffer) []T {
	if b == nil {
		return nil
	}
	if s, ok := any(b.f32).([]T); ok {
		return s
	}
	return any(b.f64).([]T)
}
