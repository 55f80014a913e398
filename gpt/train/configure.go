package train

import "github.com/pedestrian-ml/pedestrian/graph"

// Configure sets the switches of a graph to train on: kernels, their threads and precision, and the memory limit. Call
// it before anything is built on g. Evaluations compute in the same precision; decoders and probes, which build their
// own graphs, compute in float32. An unknown precision is an error of g. If g is nil, Configure does nothing.
func Configure(g *graph.Graph, t Training, r Run) {
	if g == nil {
		return
	}
	g.Kernels = t.Kernels
	g.SetThreads(r.Threads)
	g.SetPrecision(t.precision())
	g.SetMemoryLimit(r.Limit())
}
