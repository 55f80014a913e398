//go:build mpi && cgo

package gpt

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
)

const asRank = "PEDESTRIAN_MPI_RANK"

// TestMPI: two and four ranks of MPI, each a process, compute the bits of a single trainer, and a rank that fails ends
// the job with its error.
func TestMPI(t *testing.T) {
	if mode := os.Getenv(asRank); mode != "" {
		rankOfMPI(t, mode)
		return
	}
	mpirun, err := exec.LookPath(cmp.Or(os.Getenv("PEDESTRIAN_MPIRUN"), "mpirun")) // or another than the first of PATH
	if err != nil {
		t.Skip("no mpirun")
	}
	alone := newTrainer(t, many())
	steps(t, alone, 3)
	want := "weights " + fingerprint(t, alone)
	job := func(ranks int, mode string) (string, error) {
		cmd := exec.CommandContext(t.Context(), mpirun, "-np", fmt.Sprint(ranks), os.Args[0], "-test.run=^TestMPI$")
		cmd.Env = append(os.Environ(), asRank+"="+mode, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
			"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, ranks := range []int{1, 2, 4} {
		out, err := job(ranks, "train")
		if got := strings.Count(out, want); err != nil || got != ranks {
			t.Errorf("%d ranks (%v): %d have %s:\n%s", ranks, err, got, want, out)
		}
	}
	if out, err := job(2, "fail"); err == nil || !strings.Contains(out, "rank 1: no room") {
		t.Errorf("a rank that fails: %v:\n%s", err, out)
	}
}

func rankOfMPI(t *testing.T, mode string) {
	g, err := dist.Open(dist.Options{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	trainer := newTrainer(t, many())
	trainer.Group = g
	for i := range 3 {
		if mode == "fail" && i == 1 && g.Rank() == 1 {
			t.Fatalf("rank %d: no room", g.Rank())
		}
		if _, err := trainer.Step(); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("weights " + fingerprint(t, trainer))
	if err := errors.Join(g.Barrier(), g.Close()); err != nil {
		t.Fatal(err)
	}
}
