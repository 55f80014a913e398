//go:build arm64 && !nosimd

package gemm

// gemmSets returns the instruction sets that this processor has, and plain Go.
func gemmSets() map[string]*microkernels {
	return map[string]*microkernels{"NEON": &gemmNEON, "Go": nil}
}

// byColumns names no set: NEON itself has no kernel for rows.
const byColumns = ""
