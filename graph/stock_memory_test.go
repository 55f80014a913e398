//go:build !race

package graph_test

import (
	"runtime"
	"testing"

	"github.com/pedestrian-ml/pedestrian/nn"
)

// In a model of kernels, a layer of Gorgonia's operations adds only its own intermediate results, both to the planned
// memory and to the allocations of a run.
func TestStockLayerMemory(t *testing.T) {
	kernels, _ := trained(t, nn.GELU{}, false)
	g, p := trained(t, swish{}, false)
	if len(p.Stock()) == 0 {
		t.Fatal("no operation is Gorgonia's")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	planned, allocated := g.Bytes(), int(after.TotalAlloc-before.TotalAlloc)
	t.Log(planned, kernels.Bytes(), allocated, p.Stock())
	if limit := kernels.Bytes() * 6 / 5; planned+allocated > limit {
		t.Errorf("%d bytes planned and %d allocated in a run, more than 1.2 times the %d of a model of kernels",
			planned, allocated, kernels.Bytes())
	}
}
