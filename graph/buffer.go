package graph

import (
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/plan"
)

// buffer is memory that one of our operations fills: its result, a further result, what its backward operation needs of
// it, or scratch. It is bound to numbers before the operation runs.
type buffer struct {
	size int
	part bool // wanted only where the operation that returns it is part of the program

	f32 []float32
	f64 []float64
}

// Len returns the number of entries.
func (b *buffer) Len() int { return b.size }

// Optional says that the buffer is wanted only where an operation of the program returns it.
func (b *buffer) Optional() bool { return b.part }

// Bind fixes the memory for the operations that run next.
func (b *buffer) Bind(n plan.Numbers) { b.f32, b.f64 = n.F32, n.F64 }

// of is what b holds in the program that runs, nil if nothing reads it.
func of[T kernel.Float](b *buffer) []T {
	if b == nil {
		return nil
	}
	if s, ok := any(b.f32).([]T); ok {
		return s
	}
	return any(b.f64).([]T)
}
