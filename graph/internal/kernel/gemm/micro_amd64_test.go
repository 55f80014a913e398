//go:build amd64 && !nosimd

package gemm

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/cpu"
)

// gemmSets returns the instruction sets that this processor has.
func gemmSets() map[string]*microkernels {
	sets := map[string]*microkernels{}
	if cpu.X86.HasAVX512F {
		sets["AVX-512"] = &gemmAVX512
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets["AVX2"] = &gemmAVX2
	}
	return sets
}

// TestOtherProcessors runs the tests of the product as on a processor with fewer instruction sets.
func TestOtherProcessors(t *testing.T) {
	if testing.Short() || os.Getenv("GODEBUG") != "" {
		t.Skip("restarts this program with fewer instructions: not with -short, and not in such a run itself")
	}
	for _, off := range []string{"cpu.avx512f=off", "cpu.avx512f=off,cpu.avx2=off"} {
		test := exec.Command(os.Args[0], "-test.run=^(TestGemm|TestGemmAdd|TestMicrokernels|TestRounded|TestPeak|TestGODEBUGIsHeard)$", "-test.short")
		test.Env = append(os.Environ(), "GODEBUG="+off)
		if out, err := test.CombinedOutput(); err != nil {
			t.Errorf("GODEBUG=%s: %v\n%s", off, err, out)
		}
	}
}

// TestGODEBUGIsHeard is run by TestOtherProcessors: the sets that are switched off must be unused.
func TestGODEBUGIsHeard(t *testing.T) {
	switch os.Getenv("GODEBUG") {
	case "cpu.avx512f=off":
		if gemmBest == &gemmAVX512 || pairs {
			t.Error("AVX-512 is still in use")
		}
	case "cpu.avx512f=off,cpu.avx2=off":
		if gemmBest != nil {
			t.Error("assembly is still in use")
		}
	}
}
