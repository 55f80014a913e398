package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pkg/errors"
)

// sameRun checks that two runs ended alike: every file of the newest checkpoint, and the metrics. Their certificates
// have the same chain; one of a run that was interrupted also has links of its checkpoints.
func sameRun(t *testing.T, got, want string) {
	t.Helper()
	a, err := checkpoint.Load(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := checkpoint.Load(want)
	if err != nil {
		t.Fatal(err)
	}
	if a.Step != b.Step {
		t.Errorf("ended at step %d, want %d", a.Step, b.Step)
	}
	if x, y := a.Names(), b.Names(); len(x) != 7 || !slices.Equal(x, y) {
		t.Errorf("got files %v, want seven, %v", x, y)
	}
	// it has times
	for _, name := range slices.DeleteFunc(a.Names(), func(name string) bool { return name == "corpus.json" }) {
		x, err := a.File(name)
		if err != nil {
			t.Fatal(err)
		}
		y, err := b.File(name)
		if err != nil {
			t.Fatal(err)
		}
		if name == certificate.File {
			sameChain(t, x, y)
			continue
		}
		x = bytes.ReplaceAll(x, []byte(got), []byte(want)) // state.json has out_dir
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs from the undisturbed run's", name)
		}
	}
	if diff := cmp.Diff(lines(t, want), lines(t, got)); diff != "" {
		t.Errorf("metrics.jsonl (-undisturbed +resumed):\n%s", diff)
	}
}

// sameChain checks that two certificates end with the same chain and the same hashes.
func sameChain(t *testing.T, got, want []byte) {
	t.Helper()
	a, err := certificate.Decode(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := certificate.Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	x, y := a.Last(), b.Last()
	x.Sum, y.Sum = "", ""
	if links, err := b.Compare(a); err != nil || links < 2 || x != y {
		t.Errorf("certificates: %d links are equal, %v; got the last one %v, want %v", links, err, x, y)
	}
}

// A signal saves after the current step and ends the program with 128 + its number; -resume then continues as if
// uninterrupted.
func TestSignals(t *testing.T) {
	long := []string{
		"-max_iters", "60", "-lr_decay_iters", "60", "-eval_interval", "17", "-log_interval", "1",
		"-gradient_accumulation_steps", "10",
	}
	whole := t.TempDir()
	mustDo(t, small(t, whole, long...)...)
	codes := map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129}
	if signal.Ignored(syscall.SIGHUP) { // under nohup programs start with it ignored, and leave it so
		delete(codes, syscall.SIGHUP)
	}
	for signal, code := range codes {
		dir := t.TempDir()
		args := small(t, dir, long...)
		cmd, out, complaint := start(t, nil, args...)
		waitFor(t, out, "step 5/60")
		cmd.Process.Signal(signal)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("%v: exit status %d, want %d: %s", signal, got, code, complaint)
		}
		cp, err := checkpoint.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if cp.Step < 5 || cp.Step >= 60 || !strings.Contains(
			complaint.String(), fmt.Sprintf("saved at step %d, continue with -resume", cp.Step),
		) {
			t.Errorf("%v: saved at step %d, said %q", signal, cp.Step, complaint)
		}
		mustDo(t, append(args, "-resume")...)
		sameRun(t, dir, whole)
	}
}

// The second signal does not wait for the step to end, which would take for ever.
func TestSecondSignal(t *testing.T) {
	dir := t.TempDir()
	cmd, out, _ := start(t, nil, small(t, dir, "-gradient_accumulation_steps", "10000000")...)
	waitFor(t, out, "step 0:")
	for {
		if _, err := os.Stat(filepath.Join(dir, "loss.png")); err == nil { // the last that is written before the step
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // into the endless first step
	cmd.Process.Signal(syscall.SIGINT)
	time.Sleep(50 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal("one signal ended a step:", err)
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 143 {
		t.Errorf("exit status %d, want 143", got)
	}
	if cp, err := checkpoint.Load(dir); err != nil || cp.Step != 0 {
		t.Errorf("the checkpoint of step 0 is gone: %v", err)
	}
}

// interrupter ends a context when the given line is written.
type interrupter struct {
	cancel  context.CancelCauseFunc
	left    int
	written bytes.Buffer
}

func (w *interrupter) Write(p []byte) (int, error) {
	if w.left -= bytes.Count(p, []byte("\n")); w.left <= 0 {
		w.cancel(program.Interrupt{Signal: syscall.SIGINT})
	}
	return w.written.Write(p)
}

// A run that is interrupted anywhere, between steps, before or after an evaluation, or at the end, is continued by
// -resume as if uninterrupted.
func TestInterruptedAnywhere(t *testing.T) {
	whole := t.TempDir()
	count := strings.Count(mustDo(t, small(t, whole)...), "\n")
	each := 10
	switch {
	case os.Getenv("NIGHTLY") != "":
		each = 1
	case !testing.Short():
		each = 8
	}
	for i := 1; i < count; i += each {
		dir := t.TempDir()
		args := small(t, dir)
		ctx, cancel := context.WithCancelCause(t.Context())
		w := &interrupter{cancel: cancel, left: i}
		err := run(ctx, args, w, io.Discard)
		var caught program.Interrupt
		if !errors.As(err, &caught) && !strings.HasSuffix(w.written.String(), "tok/s\n") {
			t.Errorf("interrupted at line %d: %v", i, err)
		}
		mustDo(t, append(args, "-resume")...)
		sameRun(t, dir, whole)
	}
}

// A signal while the network is built ends the program, and no files are left.
func TestSignalWhileBuilding(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd, _, complaint := start(t, nil, small(t, dir, "-n_layer", "3000")...)
	time.Sleep(500 * time.Millisecond) // building takes many times as long, and writes nothing
	begun := time.Now()
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("exit status %d, want 130: %s", got, complaint)
	}
	if !strings.Contains(complaint.String(), "building was stopped") {
		t.Errorf("it said %q", complaint)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("%s exists, want nothing", dir)
	}
	t.Logf("ended after %v", time.Since(begun).Round(time.Millisecond))
}
