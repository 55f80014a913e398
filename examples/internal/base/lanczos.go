package base

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
)

// Lanczos returns the search for the largest eigenvalue of a model's Hessian to a thousandth. Its vectors take at most
// half of the memory.
func Lanczos(m *gpt.Model, c *inspect.Curvature) inspect.Lanczos {
	most := m.Graph.MemoryLimit() / 16 / int64(max(1, c.Len()))
	return inspect.Lanczos{Seed: 1, Tolerance: 1e-3, MaxIterations: int(max(1, min(100, most)))}
}
