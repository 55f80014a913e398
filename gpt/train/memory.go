package train

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim/reduce"
	"github.com/pkg/errors"
)

const gib = 1 << 30

// Limit returns the largest number of bytes that a run may use: MemoryLimit, or the memory of the machine.
func (r Run) Limit() int64 {
	if r.MemoryLimit > 0 {
		return int64(min(r.MemoryLimit*gib, math.MaxInt64/2))
	}
	return graph.MachineMemory()
}

// Within returns r with the memory limit of g.
func (r Run) Within(g *graph.Graph) Run {
	r.MemoryLimit = float64(g.MemoryLimit()) / gib
	return r
}

// CheckMemory returns an error if bytes exceed the limit of r.
func (r Run) CheckMemory(bytes float64, what string, fields field.List, names ...string) error {
	if !(r.MemoryLimit >= 0) {
		return errors.Errorf("memory_limit: got %v, want at least 0", r.MemoryLimit)
	}
	return fields.CheckMemory(r.Limit(), bytes, what, names...)
}

// Planned is a function that builds a network with the given number of blocks on an Outline, and returns the paths of
// the blocks, its loss and the parameters to train.
type Planned func(g *graph.Graph, blocks int) (places []string, loss graph.Expr, params []graph.Expr)

// Need returns the number of bytes that a run with the given number of blocks needs: parameters, masks and ids,
// activations and gradients as they are planned, and the optimizer's state. Blocks repeat after period; it is 1 if all
// are alike. For a deep network Need plans two shallow ones, since every further period needs the same.
func Need(t Training, r Run, h Hooks, o Optimizer, blocks, period int, build Planned) (bytes float64, err error) {
	if build == nil {
		return 0, errors.New("memory: the function that builds the network is nil")
	}
	step := max(period, 2)
	few := 2 * step
	if period > 1 {
		few += blocks % period
	}
	planned := func(n int) float64 {
		g := graph.Outline(graph.Float32)
		g.Kernels = t.Kernels
		g.SetThreads(r.Threads)
		places, loss, params := build(g, n)
		if rest := t.Frozen.Rest(params); len(rest) > 0 { // all parameters of a few blocks may be frozen
			params = rest
		}
		if r.Recompute {
			g.Recompute(places...)
		}
		all, failed := graph.PlanBytes(loss, params...)
		if g.Err() != nil { // more specific than the error of PlanBytes
			failed = g.Err()
		}
		if failed != nil && err == nil {
			err = failed
		}
		for _, p := range params {
			all += float64(4 * Kept(t, r, h, o, p) * p.Entries())
		}
		return all
	}
	if blocks <= few {
		return planned(blocks), err
	}
	less, full := planned(few-step), planned(few)
	return full + float64(blocks-few)*(full-less)/float64(step), err
}

// Kept returns the number of values that a run keeps for every number of the parameter p, in addition to the number and
// its gradient: the optimizer's tensors, or this machine's part of them; the average of EMA or of the optimizer; and
// the sums over micro-batches, or the copy of the gradients that is passed to Gradients and sent to other machines. An
// empty p stands for a vector.
func Kept(t Training, r Run, h Hooks, o Optimizer, p graph.Expr) (n float64) {
	n = o.kept(t, p)
	sums := reduce.Sums(t.GradientAccumulationSteps)
	if h.Gradients != nil {
		sums = max(1, sums)
	}
	if h.Group != nil && h.Group.Size() > 1 {
		if sums = max(1, sums); r.ShardOptimizer {
			n /= float64(h.Group.Size())
		}
	}
	if t.EMA > 0 || o.averaging(t) {
		n++
	}
	return n + float64(sums)
}
