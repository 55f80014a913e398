//go:build arm64 && !nosimd

package gemm

// gemmSets returns the instruction sets that this processor has.
func gemmSets() map[string]*microkernels { return map[string]*microkernels{"NEON": &gemmNEON} }

// byColumns names no set: NEON itself has no kernel for rows.
const byColumns = ""

// hasFMA reports whether products consist of multiplications and additions that are rounded once.
func hasFMA() bool { return true }
