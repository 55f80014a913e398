//go:build amd64 && !nosimd

package quant

import "golang.org/x/sys/cpu"

var (
	floatsF32  = floatKernels{rowsF32AVX2, foursF32AVX2}
	floatsBF16 = floatKernels{rowsBF16AVX2, foursBF16AVX2}

	kernelsVNNI = kernels{
		wholeKernels{rowsQ8VNNI, panelQ8VNNI, foursQ8VNNI, widePanelQ8VNNI, wideFoursQ8AVX512},
		wholeKernels{rowsQ4VNNI, panelQ4VNNI, foursQ4VNNI, widePanelQ4VNNI, wideFoursQ4AVX512},
		floatsF32, floatsBF16, roundAVX2, tileAVX512, eightsAVX512, widenAVX512,
	}
	kernelsAVX512 = kernels{
		wholeKernels{rowsQ8AVX2, panelQ8AVX2, foursQ8AVX2, nil, nil},
		wholeKernels{rowsQ4AVX2, panelQ4AVX2, foursQ4AVX2, nil, nil},
		floatsF32, floatsBF16, roundAVX2, tileAVX512, eightsAVX512, widenAVX512,
	}
	kernelsAVX2 = kernels{
		wholeKernels{rowsQ8AVX2, panelQ8AVX2, foursQ8AVX2, nil, nil},
		wholeKernels{rowsQ4AVX2, panelQ4AVX2, foursQ4AVX2, nil, nil},
		floatsF32, floatsBF16, roundAVX2, nil, nil, nil,
	}
)

// sets returns the kernels that this processor can run, by name, the best last. Every processor with AVX2 and FMA
// converts binary16.
func sets() (names []string, list map[string]*kernels) {
	list = map[string]*kernels{}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		names, list["AVX2"] = append(names, "AVX2"), &kernelsAVX2
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		names, list["AVX512"] = append(names, "AVX512"), &kernelsAVX512
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512VL && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		names, list["VNNI"] = append(names, "VNNI"), &kernelsVNNI
	}
	return names, list
}
