//go:build !race

package gemm

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
)

// TestProductsAllocateNothing once the buffers exist. (Under the race detector sync.Pool drops items on purpose.)
func TestProductsAllocateNothing(t *testing.T) {
	for _, threads := range []int{1, 2} {
		p := kernel.NewPool(threads)
		x, y, z := make([]float32, 1<<18), make([]float32, 1<<18), make([]float32, 1<<18)
		half, eighth := PackBF16(p, 512, 500, Mat(y, 512)), PackInt8(p, 512, 500, Mat(y, 512))
		for name, f := range map[string]func(){
			"row times bfloat16": func() { MulPacked(p, 1, x, half, y, z) },
			"rows times int8":    func() { MulPacked(p, 3, x, eighth, nil, z) },
			"small product":      func() { Mul(p, 1, 128, 128, 1, Mat(x, 128), Mat(y, 128), 0, Mat(z, 128)) },
			"product":            func() { Mul(p, 256, 256, 256, 1, Mat(x, 256), Mat(y, 256), 0, Mat(z, 256)) },
			"rounded small product": func() {
				Rounded{}.MulSerial(
					64, 64, 64, 1, Mat(x, 64), Mat(y, 64), 0, Mat(z, 64),
				)
			},
			"rounded product": func() {
				Rounded{}.Mul(
					p, 256, 256, 256, 1, Mat(x, 256), Mat(y, 256), 0, Mat(z, 256),
				)
			},
			"row times a large one": func() { Mul(p, 1, 512, 512, 1, Mat(x, 512), Mat(y, 512).T(), 0, Mat(z, 512)) },
		} {
			if n := testing.AllocsPerRun(50, f); n != 0 {
				t.Errorf("%d threads, %s: %v allocations", threads, name, n)
			}
		}
	}
}

// TestRoundingAllocatesNothing with and without VDPBF16PS.
func TestRoundingAllocatesNothing(t *testing.T) {
	x, y := make([]float32, 64*64), make([]float32, 64*64)
	eachRoad(t, func(t *testing.T) {
		if n := testing.AllocsPerRun(20, func() {
			Rounded{}.MulSerial(
				64, 64, 64, 1, Mat(x, 64), Mat(x, 64), 0, Mat(y, 64),
			)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
