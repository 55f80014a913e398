package train

import "github.com/pedestrian-ml/pedestrian/graph"

// Configure sets the switches of a graph to train on: kernels, their threads and precision, and the memory limit. It is
// called before anything is built on g. Evaluations compute in the same precision; decoders and probes, which build
// graphs of their own, compute in float32. A precision without a name is an error of g. A nil g is left alone.
func Configure(g *graph.Graph, t Training, r Run) {
	if g == nil {
		return
	}
	g.Kernels = t.Kernels
	g.SetThreads(r.Threads)
	g.SetPrecision(t.precision())
	g.SetMemoryLimit(r.Limit())
}
