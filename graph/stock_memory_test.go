//go:build !race

package graph_test

import (
	"runtime"
	"testing"

	"github.com/pedestrian-ml/pedestrian/nn"
)

// A layer of Gorgonia's operations costs a model of kernels its own intermediate results and no more: neither in the
// memory that is planned nor in what a run allocates.
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
		t.Errorf("%d bytes planned and %d allocated in a run, more than 1.2 times the %d of a model of kernels", planned, allocated, kernels.Bytes())
	}
}
