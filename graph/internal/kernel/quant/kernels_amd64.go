//go:build amd64 && !nosimd

package quant

import "golang.org/x/sys/cpu"

var (
	kernelsVNNI = kernels{rowsQ8VNNI, rowsQ4VNNI, foursQ8VNNI, foursQ4VNNI, rowsF32AVX2, rowsBF16AVX2}
	kernelsAVX2 = kernels{rowsQ8AVX2, rowsQ4AVX2, foursQ8AVX2, foursQ4AVX2, rowsF32AVX2, rowsBF16AVX2}
)

// sets returns the kernels that this processor can run, by name, the best last. Every processor with AVX2 and FMA
// converts binary16.
func sets() (names []string, list map[string]*kernels) {
	list = map[string]*kernels{}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		names, list["AVX2"] = append(names, "AVX2"), &kernelsAVX2
	}
	if cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512VL && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		names, list["VNNI"] = append(names, "VNNI"), &kernelsVNNI
	}
	return names, list
}
