//go:build amd64 && !nosimd

package simd

import "golang.org/x/sys/cpu"

// Sets returns the sets that this processor can run, by name.
func Sets() map[string]*Set {
	sets := map[string]*Set{"Go": setGo}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		sets["AVX512"] = setAVX512
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets["AVX2"] = setAVX2
	}
	return sets
}

// detect returns the widest set.
func detect() *Set {
	sets := Sets()
	for _, name := range []string{"AVX512", "AVX2"} {
		if best := sets[name]; best != nil {
			return best
		}
	}
	return setGo
}
