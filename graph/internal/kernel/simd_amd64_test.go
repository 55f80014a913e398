//go:build amd64 && !nosimd

package kernel

import "golang.org/x/sys/cpu"

// vectorSets is the sets of kernels that this processor can run.
func vectorSets() map[string]*vectors {
	sets := map[string]*vectors{}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ {
		sets["AVX512"] = vectorsAVX512
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets["AVX2"] = vectorsAVX2
	}
	return sets
}
