//go:build mpi && cgo

package main

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
)

// TestMPI checks that a killed rank ends the job within seconds, and a frozen one after the timeout, with status 75;
// that a signal to the launcher saves one checkpoint, and that another number of ranks resumes it.
func TestMPI(t *testing.T) {
	mpirun, err := exec.LookPath(cmp.Or(os.Getenv("PEDESTRIAN_MPIRUN"), "mpirun")) // or another than the first of PATH
	if err != nil {
		t.Skip("several ranks are started by mpirun, of Open MPI or MPICH, which is not installed: ", err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	args := small(t, dir, "-gradient_accumulation_steps", "4", "-max_iters", "1000000", "-lr_decay_iters", "1000000",
		"-eval_interval", "1000000", "-threads", "1", "-log_interval", "1", "-timeout", "2s")
	for _, tc := range []struct {
		name, ranks, says string
		status            int // 0: what the launcher makes of it
		saved             bool
		hit               func(launcher int, rank1 int)
	}{
		{"a rank is killed", "2", "", 0, false, func(_, rank1 int) { syscall.Kill(rank1, syscall.SIGKILL) }},
		{
			"the launcher is told to end", "4", "saved at step", 0, true,
			func(launcher, _ int) { syscall.Kill(launcher, syscall.SIGTERM) },
		},
		{
			"a rank is frozen", "2", "waited 2s: no answer in time", 75, false,
			func(_, rank1 int) { syscall.Kill(rank1, syscall.SIGSTOP) },
		},
	} {
		t.Setenv(ranksVariable, t.TempDir())
		cp, err := checkpoint.Load(dir)
		before := 0
		again := args
		if err == nil {
			before, again = cp.Step, append(args, "-resume")
		}
		cmd := exec.Command(mpirun, append([]string{"-np", tc.ranks, os.Args[0]}, again...)...)
		cmd.Env = append(os.Environ(), mainVariable+"=1", "OMPI_ALLOW_RUN_AS_ROOT=1",
			"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
			"OMPI_MCA_rmaps_base_oversubscribe=1", "OMPI_MCA_hwloc_base_binding_policy=none")
		var complaint bytes.Buffer
		cmd.Stderr = &complaint
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// in a line of its own, or where the launcher is a terminal over others
		steps := regexp.MustCompile(`(\d+)/1000000 `)
		for part, said := make([]byte, 1<<12), ""; ; {
			n, err := out.Read(part)
			if err != nil {
				t.Fatalf("%s: ended before a step: %s%s", tc.name, said, &complaint)
			}
			said += string(part[:n])
			if at := steps.FindAllStringSubmatch(said, -1); len(at) > 1 && at[len(at)-1][1] != strconv.Itoa(before) {
				break
			}
		}
		data, err := os.ReadFile(filepath.Join(os.Getenv(ranksVariable), "1"))
		rank1, err2 := strconv.Atoi(string(data))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		start := time.Now()
		tc.hit(cmd.Process.Pid, rank1)
		end := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		io.Copy(io.Discard, out)
		cmd.Wait()
		if took := time.Since(start); !end.Stop() {
			t.Errorf("%s: not over after %v", tc.name, took)
		}
		got := cmd.ProcessState.ExitCode()
		if got == 0 || tc.status > 0 && got != tc.status || !strings.Contains(complaint.String(), tc.says) {
			t.Errorf("%s: exit status %d, want %d; said %s", tc.name, got, tc.status, &complaint)
		}
		if cp, err := checkpoint.Load(dir); err != nil || tc.saved != (cp.Step > before) {
			t.Errorf("%s: saved %v, after step %d (%v)", tc.name, cp, before, err)
		}
	}
}
