//go:build amd64 && !nosimd

package simd

import "golang.org/x/sys/cpu"

// Sets returns the sets that this processor can run, by name.
func Sets() map[string]*Set {
	sets := map[string]*Set{}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		sets["AVX512"] = setAVX512
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets["AVX2"] = setAVX2
	}
	return sets
}

// detect returns the widest set, or nil.
func detect() *Set {
	sets := Sets()
	if best := sets["AVX512"]; best != nil {
		return best
	}
	return sets["AVX2"]
}
