//go:build amd64 && !nosimd

package kernel

import "golang.org/x/sys/cpu"

func detect() *vectors {
	switch x := &cpu.X86; {
	case x.HasAVX512F && x.HasAVX512DQ:
		return vectorsAVX512
	case x.HasAVX2 && x.HasFMA:
		return vectorsAVX2
	}
	return nil
}
