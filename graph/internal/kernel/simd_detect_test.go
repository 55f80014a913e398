package kernel

import (
	"os"
	"os/exec"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// TestGODEBUGChoosesTheInstructionSet runs the tests of this package again in processes with some instruction sets of
// the processor switched off.
func TestGODEBUGChoosesTheInstructionSet(t *testing.T) {
	if want, child := os.LookupEnv("KERNEL_TEST_SET"); child {
		if got := simd.Of[float32]().String(); got != want {
			t.Fatalf("kernels for %s, want %s", got, want)
		}
		return
	}
	sets := simd.Sets()
	if sets["AVX2"] == nil {
		t.Skip("this processor has no vector kernels to switch off")
	}
	if testing.Short() {
		t.Skip("with -short: restarts this program several times with fewer instructions")
	}
	for godebug, want := range map[string]string{
		"cpu.avx512f=off":              "AVX2",
		"cpu.avx512dq=off":             "AVX2",
		"cpu.avx512f=off,cpu.avx2=off": "Go",
		"cpu.avx512f=off,cpu.fma=off":  "Go",
	} {
		c := exec.Command(os.Args[0], "-test.run=GODEBUGChooses|GELU|Exp|LayerNorm|CrossEntropy|AdamW|SumSquares|SumRows|Scatter|Dropout|ReLU|Reductions|NaN|VectorRows")
		c.Env = append(os.Environ(), "GODEBUG="+godebug, "KERNEL_TEST_SET="+want)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("GODEBUG=%s: %v\n%s", godebug, err, out)
		}
	}
}
