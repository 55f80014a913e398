//go:build amd64 && !nosimd

package quant

import (
	"slices"
	"testing"

	"golang.org/x/sys/cpu"
)

// TestSets: a processor runs the kernels for which it has every extension.
func TestSets(t *testing.T) {
	was := cpu.X86
	defer func() { cpu.X86 = was }()
	for _, c := range []struct {
		lacks *bool
		want  []string
	}{
		{new(bool), []string{"AVX2", "AVX512", "VNNI"}}, {&cpu.X86.HasAVX512VNNI, []string{"AVX2", "AVX512"}},
		{&cpu.X86.HasAVX512VL, []string{"AVX2", "AVX512"}}, {&cpu.X86.HasAVX512F, []string{"AVX2"}},
		{&cpu.X86.HasAVX2, nil}, {&cpu.X86.HasFMA, nil},
	} {
		cpu.X86.HasAVX2, cpu.X86.HasFMA, cpu.X86.HasAVX512VL, cpu.X86.HasAVX512VNNI = true, true, true, true
		cpu.X86.HasAVX512F = true
		*c.lacks = false
		if names, list := sets(); !slices.Equal(names, c.want) || len(list) != len(names) {
			t.Errorf("got %v, want %v", names, c.want)
		}
	}
}
