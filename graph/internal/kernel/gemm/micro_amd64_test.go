//go:build amd64 && !nosimd

package gemm

import (
	"os"
	"os/exec"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// gemmSets returns the instruction sets that this processor has, one like NEON, and plain Go.
func gemmSets() map[string]*microkernels {
	sets := map[string]*microkernels{"Go": nil}
	if cpu.X86.HasAVX512F {
		sets["AVX-512"] = &gemmAVX512
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets["AVX2"] = &gemmAVX2
		columns := gemmAVX2
		columns.rows, columns.transpose = nil, transposeInGo
		sets[byColumns] = &columns
	}
	return sets
}

// byColumns names AVX2 without its kernel for rows. It packs rows in squares, like NEON.
const byColumns = "AVX2 by columns"

// transposeInGo transposes n squares of 8 × 8 that are next to each other, as transposeNEON does with 4 × 4.
func transposeInGo(dst *float32, apart int, src *float32, ld, n int) {
	if n == 0 {
		return
	}
	to, from := unsafe.Slice(dst, (8*n-1)*apart+8), unsafe.Slice(src, 7*ld+8*n)
	for i := range 8 {
		for j := range 8 * n {
			to[j*apart+i] = from[i*ld+j]
		}
	}
}

// TestOtherProcessors runs the tests of the product as on a processor with fewer instruction sets.
func TestOtherProcessors(t *testing.T) {
	if testing.Short() || os.Getenv("GODEBUG") != "" {
		t.Skip("restarts this program with fewer instructions: not with -short, and not in such a run itself")
	}
	for _, off := range []string{"cpu.avx512f=off", "cpu.avx512f=off,cpu.avx2=off"} {
		test := exec.Command(
			os.Args[0], "-test.run=^(TestGemm|TestGemmAdd|TestMicrokernels|TestRounded|TestPeak|TestGODEBUGIsHeard)$",
			"-test.short",
		)
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
		if gemmBest == &gemmAVX512 || hasPairs() {
			t.Error("AVX-512 is still in use")
		}
	case "cpu.avx512f=off,cpu.avx2=off":
		if gemmBest != nil {
			t.Error("assembly is still in use")
		}
	}
}
