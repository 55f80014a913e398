package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// TestMain runs the program itself in the processes that the tests start.
func TestMain(m *testing.M) {
	heap.Limit()
	if os.Getenv("PEDESTRIAN_LAB") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// start starts the program in a process of its own.
func start(t *testing.T, args []string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := exec.Command(path, args...)
	c.Env, c.Stderr = append(os.Environ(), "PEDESTRIAN_LAB=1"), &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c, &said
}

// results.jsonl has the same bits with one job and two, of one process and of two at once, and if processes are killed
// at random moments: a few by day, 20 of a study of 32 trials with NIGHTLY=1, alone and in pairs.
func TestKillsKeepTheBits(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it starts the program a dozen times; the whole suite does")
	}
	kills, seeds, arms := 2, "2", "attention=linear; block=post"
	if os.Getenv("NIGHTLY") != "" {
		kills, seeds, arms = 20, "8", "norm=rmsnorm; "+arms
	}
	data := verses(t)
	args := func(more ...string) (dir string, list []string) {
		dir = t.TempDir()
		return dir, append([]string{"-quick", "-data", data, "-dir", dir, "-max_iters", "40", "-seeds", seeds,
			"-threads", "1",
			"-arms", arms}, more...)
	}
	alone, list := args()
	printed(t, list...)
	want := read(t, alone, "results.jsonl")
	same := func(name, dir string) {
		t.Helper()
		if got := read(t, dir, "results.jsonl"); got != want {
			t.Errorf("%s: got other results:\n%s\nwant\n%s", name, got, want)
		}
	}
	jobs, list := args("-jobs", "2", "-threads", "2")
	printed(t, list...)
	same("-jobs 2", jobs)
	pair, list := args()
	one, said1 := start(t, append(list, "-part", "1/2"))
	two, said2 := start(t, append(list, "-part", "2/2"))
	if err1, err2 := one.Wait(), two.Wait(); err1 != nil || err2 != nil {
		t.Errorf("two processes: got %v, %v:\n%s\n%s", err1, err2, said1, said2)
	}
	same("two processes", pair)
	for _, processes := range []int{1, 2} {
		dir, list := args("-max_iters", "40")
		for range kills {
			var running []*exec.Cmd
			for range processes {
				c, _ := start(t, list)
				running = append(running, c)
			}
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			for _, c := range running {
				c.Process.Kill()
				c.Wait()
			}
		}
		printed(t, list...)
		same("after kills", dir)
	}
}

// A directory that cannot be written is an error that names the place and loses nothing: the table is printed, results
// are kept, and the same command continues.
func TestUnwritable(t *testing.T) {
	args := quick(t, "-arms", "norm=rmsnorm")
	dir := args[4]
	put(t, filepath.Join(dir, "results"), "in the way")
	if err := run(t.Context(), args, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "results") {
		t.Errorf("got %v", err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Remove(filepath.Join(dir, "results")))
	must(os.MkdirAll(filepath.Join(dir, "report.md", "in the way"), 0o755))
	var out bytes.Buffer
	if err := run(t.Context(), args, &out, io.Discard); err == nil || !strings.Contains(err.Error(), "report.md") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(out.String(), "0 of 4 results reused") ||
		strings.Count(read(t, dir, "results.jsonl"), "\n") != 4 {
		t.Errorf("got\n%s", &out)
	}
	must(os.RemoveAll(filepath.Join(dir, "report.md")))
	if again, _ := printed(t, args...); !strings.Contains(again, "4 of 4 results reused") {
		t.Errorf("got\n%s", again)
	}
	if f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		defer f.Close()
		if err := run(t.Context(), args, f, io.Discard); err == nil || !strings.Contains(err.Error(), "space") {
			t.Errorf("output on a full disk: got %v", err)
		}
	}
}
