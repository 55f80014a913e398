//go:build arm64 && !nosimd

package quant

import "golang.org/x/sys/cpu"

// sets returns the kernels that this processor can run, by name, the best last.
func sets() (names []string, list map[string]*kernels) {
	k := &kernels{f32: rowsF32NEON, bf16: rowsBF16NEON}
	if cpu.ARM64.HasASIMDDP {
		k.q8, k.q4, k.foursQ8, k.foursQ4 = rowsQ8NEON, rowsQ4NEON, foursQ8NEON, foursQ4NEON
	}
	return []string{"NEON"}, map[string]*kernels{"NEON": k}
}
