//go:build !mpi

package main

import (
	"io"
	"strings"
	"testing"
)

// A program without MPI that is started as one of several ranks is refused before it creates anything.
func TestOneOfSeveral(t *testing.T) {
	t.Setenv("SLURM_NTASKS", "3")
	err := run(t.Context(), []string{"-out_dir", t.TempDir() + "/out"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "SLURM_NTASKS: got 3 ranks, want 1") {
		t.Errorf("got error %v", err)
	}
}
