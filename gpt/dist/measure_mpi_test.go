//go:build mpi && cgo

package dist

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMeasure prints, under mpirun, the times of the sum of the tree and of MPI's: PEDESTRIAN_MEASURE=1 mpirun -np 2 go
// test -tags mpi ./gpt/dist -run TestMeasure -v, or the compiled test.
func TestMeasure(t *testing.T) {
	if os.Getenv("PEDESTRIAN_MEASURE") == "" {
		t.Skip("PEDESTRIAN_MEASURE is not set: it measures, under mpirun")
	}
	tree, err := Open(Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	sums := []func(x []float32) error{tree.Sum, tree.(*group).Link.(adder).Add}
	for _, n := range []int{1, 65_536, 804_096, 10_745_088} {
		x := make([]float32, n)
		least := make([]time.Duration, len(sums))
		for range min(400, 1+200_000_000/(n+200_000)) {
			for i, sum := range sums { // in turn
				if err := tree.Barrier(); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if err := sum(x); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); least[i] == 0 || took < least[i] {
					least[i] = took
				}
			}
		}
		if tree.Rank() == 0 {
			fmt.Printf("%d ranks, %.4g MB: tree %v, MPI_Allreduce %v, ratio %.2f\n", tree.Size(), 4e-6*float64(n),
				least[0], least[1],
				float64(least[0])/float64(least[1]))
		}
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
}
