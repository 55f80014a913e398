//go:build arm64 && !nosimd

package quant

import "golang.org/x/sys/cpu"

// sets returns the kernels that this processor can run, by name, the best last.
func sets() (names []string, list map[string]*kernels) {
	k := &kernels{
		f32: floatKernels{rowsF32NEON, foursF32NEON}, bf16: floatKernels{rowsBF16NEON, foursBF16NEON},
		round: roundNEON,
	}
	if cpu.ARM64.HasASIMDDP {
		k.q8 = wholeKernels{rowsQ8NEON, panelQ8NEON, foursQ8NEON, nil, nil}
		k.q4 = wholeKernels{rowsQ4NEON, panelQ4NEON, foursQ4NEON, nil, nil}
	}
	return []string{"NEON"}, map[string]*kernels{"NEON": k}
}
