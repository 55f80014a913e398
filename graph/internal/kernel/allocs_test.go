//go:build !race

package kernel

import "testing"

// TestLoopsAllocateNothing: kernels keep the memory for their threads, so the garbage collector has nothing to do.
// (Under the race detector sync.Pool drops items on purpose.)
func TestLoopsAllocateNothing(t *testing.T) {
	for _, threads := range []int{1, 2} {
		p := NewPool(threads)
		x, y, z := make([]float32, 1<<18), make([]float32, 1<<18), make([]float32, 1<<18)
		turned, rows := make([]float32, 1<<18), make([]int, 1<<13)
		cos, sin := rotaryTables[float32](128, 32)
		turn := &Rotation[float32]{Positions: rows, Groups: 1, Size: 32}
		for name, f := range map[string]func(){
			"few entries": func() { GELU(p, z[:100], x[:100]) },
			"entries":     func() { GELU(p, z, x) },
			"sum":         func() { Add(p, z, x, y) },
			"squares":     func() { SumSquares(p, x) },
			"rotation":    func() { turn.Run(p, turned, x, cos, sin) },
			"norm": func() {
				LayerNorm(p, z, Norm[float32]{X: x, W: y[:32], Mean: turned[:1<<13], Spread: turned[1<<13 : 1<<14]})
			},
			"rms": func() { RMSNorm(p, z, Norm[float32]{X: x, W: y[:32], Spread: turned[1<<13 : 1<<14]}) },
			"rms, backward": func() {
				RMSNormBackward(
					p, Norm[float32]{X: x, W: y[:32], Spread: turned[1<<13 : 1<<14]}, y,
					NormGrads[float32]{X: z, Scratch: turned[:2*Parts*32]},
				)
			},
			"reglu, backward": func() { GatedBackward(p, ReLU[float32], ReLUBackward[float32], z, turned, x, y, y) },
			"gate, backward":  func() { SwiGLUBackward(p, z, turned, x, y, y) },
			"sigma": func() {
				LayerNormSigma(
					p, z, Norm[float32]{X: x, W: y[:32], Mean: turned[:1<<13], Spread: turned[1<<13 : 1<<14]},
				)
			},
		} {
			if n := testing.AllocsPerRun(50, f); n != 0 {
				t.Errorf("%d threads, %s: %v allocations", threads, name, n)
			}
		}
	}
}
