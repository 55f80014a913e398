//go:build !mpi

package dist

import "testing"

// A program alone is a group of one, and refuses to run as one of several ranks.
func TestOpenAlone(t *testing.T) {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"} {
		t.Setenv(name, "1")
	}
	g, err := Open(Options{})
	if err != nil || g.Size() != 1 || g.Rank() != 0 {
		t.Fatalf("got %v, %v", g, err)
	}
	x := []float32{3}
	if g.Sum(x) != nil || g.Share(x, 0) != nil || g.Barrier() != nil || g.Close() != nil || x[0] != 3 {
		t.Errorf("x is %v", x)
	}
	t.Setenv("PMI_SIZE", "2")
	_, err = Open(Options{})
	contains(t, err, "built without -tags mpi: PMI_SIZE: got 2 ranks, want 1")
}
