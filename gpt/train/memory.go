package train

import (
	"math"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

const gib = 1 << 30

// Limit returns the most bytes of memory that a run may ask for: MemoryLimit, or all that the machine has.
func (r Run) Limit() int64 {
	if r.MemoryLimit > 0 {
		return int64(min(r.MemoryLimit*gib, math.MaxInt64/2))
	}
	return graph.MachineMemory()
}

// Within is r with the limit of g.
func (r Run) Within(g *graph.Graph) Run {
	r.MemoryLimit = float64(g.MemoryLimit()) / gib
	return r
}

// CheckMemory refuses bytes beyond the limit of r.
func (r Run) CheckMemory(bytes float64, what string, fields field.List, names ...string) error {
	if !(r.MemoryLimit >= 0) {
		return errors.Errorf("memory_limit: got %v, want at least 0", r.MemoryLimit)
	}
	return CheckMemory(r.Limit(), bytes, what, fields, names...)
}

// CheckMemory refuses bytes beyond limit, with the fields by these names that ask for them.
func CheckMemory(limit int64, bytes float64, what string, fields field.List, names ...string) error {
	if bytes >= 0 && bytes <= float64(limit) {
		return nil
	}
	sizes := make([]string, len(names))
	for i, name := range names {
		f, _ := fields.Find(name)
		sizes[i] = name + " " + f.String()
	}
	return errors.Errorf("memory: got about %.4g GiB for %s of %s; want at most %.4g GiB, the machine's memory or memory_limit",
		bytes/gib, what, strings.Join(sizes, ", "), float64(limit)/gib)
}

// Planned makes a network of so many blocks on an Outline, and returns their places, its loss and the parameters to
// train.
type Planned func(g *graph.Graph, blocks int) (places []string, loss graph.Expr, params []graph.Expr)

// Need is how many bytes a run of so many blocks needs: parameters, masks and ids, activations and gradients as they
// are planned, and what the optimizer keeps. A deep network is planned by two that are not: every block more needs as
// much.
func Need(t Training, r Run, h Hooks, blocks int, build Planned) (bytes float64, err error) {
	if build == nil {
		return 0, errors.New("memory: nothing builds the network (nil)")
	}
	const few = 4
	planned := func(n int) float64 {
		g := graph.Outline(graph.Float32)
		g.Kernels = t.Kernels
		g.SetThreads(r.Threads)
		places, loss, params := build(g, n)
		if rest := t.Frozen.Rest(params); len(rest) > 0 { // of a few blocks all may be frozen
			params = rest
		}
		if r.Recompute {
			g.Recompute(places...)
		}
		all, failed := graph.PlanBytes(loss, params...)
		if g.Err() != nil { // which says more than that there is nothing to plan
			failed = g.Err()
		}
		if failed != nil && err == nil {
			err = failed
		}
		for _, p := range params {
			all += 4 * Kept(t, r, h) * p.Entries()
		}
		return all
	}
	if blocks <= few {
		return planned(blocks), err
	}
	half, whole := planned(few/2), planned(few)
	return whole + float64(blocks-few)*(whole-half)/(few/2), err
}

// Kept is how many numbers a run keeps for every one that is trained, itself and its gradient apart: the moments of the
// optimizer, as many as AdamW's for one of a program's own, or this machine's part of them; and the sums over
// micro-batches, or the copy of the gradients that is shown to Gradients and sent to other machines.
func Kept(t Training, r Run, h Hooks) (n float64) {
	switch {
	case t.Optimizer != "sgd":
		n = 2
	case t.Beta1 > 0:
		n = 1
	}
	sums := optim.Sums(t.GradientAccumulationSteps)
	if h.Gradients != nil {
		sums = max(1, sums)
	}
	if h.Group == nil || h.Group.Size() == 1 {
		return n + float64(sums)
	}
	if r.ShardOptimizer {
		n /= float64(h.Group.Size())
	}
	return n + float64(max(1, sums))
}
