package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"gonum.org/v1/plot/plotter"
)

// An output that is closed, as by head, does not end a run.
func TestClosedPipe(t *testing.T) {
	dir := t.TempDir()
	cmd, out, complaint := start(t, nil, small(t, dir)...)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	out.(io.Closer).Close()
	cmd.Wait()
	if cp, err := checkpoint.Load(dir); err != nil || cp.Step != 6 {
		t.Errorf("got %v (%v), want the run's last step, 6: %s", cp, err, complaint)
	}
	if got := cmd.ProcessState.ExitCode(); got != 141 || complaint.Len() > 0 {
		t.Errorf("exit status %d, said %q, want 141 and nothing", got, complaint)
	}
}

// A long run uses no more memory than a short one: its kept points and its reads and drawings do not grow with the
// numbers of steps and evaluations.
func TestHistoryDoesNotGrow(t *testing.T) {
	steps := 15_000
	if os.Getenv("NIGHTLY") != "" {
		steps = 1_000_000
	}
	dir := t.TempDir()
	var early, late [2]uint64 // bytes in use, and bytes that a picture takes
	took := func(w io.Writer, m *program.Metrics) (taken [2]uint64) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if err := picture.Losses(w, "loss", &m.Loss, &m.Train, &m.Val, 0); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return [2]uint64{before.HeapAlloc, after.TotalAlloc - before.TotalAlloc}
	}
	m, err := program.OpenMetrics(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	log := program.Log{Bar: program.NewBar(io.Discard, "", 0, steps), Metrics: m}
	took(io.Discard, m) // the fonts
	for step := 1; step <= steps; step++ {
		log.Step(
			train.Progress{
				Step: step, Loss: 2 + 3*math.Exp(-float64(step)/3000) + float64(step%9)/50, Took: time.Millisecond,
			},
		)
		log.Add(program.EvalLine{Step: step, Train: 2, Val: 2})
		if step == 5_000 {
			early = took(io.Discard, m)
		}
	}
	late = took(io.Discard, m)
	if err := log.Close(); err != nil || log.Trouble != nil {
		t.Fatal(err, log.Trouble)
	}
	for i, what := range []string{"what is kept", "a picture"} {
		if most := early[i]*2 + 1<<17; late[i] > most {
			t.Errorf(
				"%s: %d bytes after %d steps, want at most %d: there were %d after 5000", what, late[i], steps, most,
				early[i],
			)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	again, err := program.OpenMetrics(dir, steps)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 1<<20 {
		t.Errorf("resumed at step %d: %d bytes are held, want at most %d", steps, held, 1<<20)
	}
	for name, curves := range map[string][2]*program.Curve{
		"loss": {&m.Loss, &again.Loss}, "train": {&m.Train, &again.Train}, "val": {&m.Val, &again.Val},
	} {
		if diff := cmp.Diff(points(curves[0]), points(curves[1])); diff != "" {
			t.Errorf("%s as it was (-) and resumed (+):\n%.500s", name, diff)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, program.MetricsFile))
	if got := bytes.Count(data, []byte("\n")); err != nil || got != 2*steps {
		t.Errorf("metrics.jsonl has %d lines (%v), want %d", got, err, 2*steps)
	}
}

func points(c *program.Curve) (list []plotter.XY) {
	for i := range c.Len() {
		x, y := c.XY(i)
		list = append(list, plotter.XY{X: x, Y: y})
	}
	return list
}

// Errors of the picture or the metrics come after the checkpoint and do not end the run.
func TestTroubleWithThePicture(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "loss.png"), 0o755); err != nil { // where no file can be
		t.Fatal(err)
	}
	out, _, err := do(t.Context(), small(t, dir)...)
	if err == nil || !strings.Contains(err.Error(), "loss.png") {
		t.Errorf("got %v, want what is wrong with loss.png", err)
	}
	if got := strings.Count(out, "the run continues despite: "); got != 1 || !strings.HasSuffix(out, "tok/s\n") {
		t.Errorf("told %d times:\n%s", got, out)
	}
	if cp, err := checkpoint.Load(dir); err != nil || cp.Step != 6 {
		t.Errorf("got %v (%v), want step 6", cp, err)
	}
}

// A run that began on the stand-in continues with it, even if the text is available by then.
func TestResumeOnTheStandin(t *testing.T) {
	text, _ := corpus.Standin(1, 1_000_000)
	data, dir := filepath.Join(t.TempDir(), "standin.txt"), t.TempDir()
	if err := os.WriteFile(data, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := small(t, dir, "-data", data, "-tokens", "0", "-block_size", "64", "-batch_size", "32", "-max_iters", "1")
	mustDo(t, args...)
	_, _, err := do(t.Context(), append(args, "-resume", "-data", small(t, dir)[1])...)
	if err == nil || !strings.Contains(err.Error(), strconv.Quote(data)) {
		t.Errorf("on another text: got %v, want the name of the first", err)
	}
	renamed := []byte(`{"name":"built-in stand-in","sha256":""}`)
	rewrite(t, dir, "corpus.json", renamed)
	_, said, err := do(t.Context(), append(args, "-resume", "-data", "", "-max_iters", "2")...)
	if err != nil || !strings.Contains(said, "continues with it") {
		t.Errorf("got %v, said %q", err, said)
	}
	if cp, err := checkpoint.Load(dir); err != nil || cp.Step != 2 {
		t.Errorf("got %v (%v), want step 2", cp, err)
	}
}

// rewrite saves the newest checkpoint with the content of one file replaced.
func rewrite(t *testing.T, path, name string, content []byte) {
	t.Helper()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cp, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	var list []checkpoint.File
	for _, file := range cp.Names() {
		data, err := cp.File(file)
		if err != nil {
			t.Fatal(err)
		}
		if file == name {
			data = content
		}
		list = append(
			list, checkpoint.File{Name: file, Write: func(w io.Writer) error { _, err := w.Write(data); return err }},
		)
	}
	if err := dir.Save(cp.Step, list); err != nil {
		t.Fatal(err)
	}
}

// TestResumeBesideARun resumes again and again while a signal ends the previous run: the next run continues from the
// step that the previous one reported as saved, or from a later one.
func TestResumeBesideARun(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it compiles the program and starts it a dozen times; the whole suite does")
	}
	tries := 3
	if os.Getenv("NIGHTLY") != "" {
		tries = 100
	}
	dir := t.TempDir()
	args := small(
		t, dir, "-max_iters", "1000000", "-lr_decay_iters", "1000000", "-eval_interval", "1", "-log_interval", "1",
		"-tokens", "0",
	)
	cmd, out, complaint := start(t, nil, args...)
	waitFor(t, out, "step 1: ")
	for try := range tries {
		cmd.Process.Signal(syscall.SIGTERM)
		var next struct {
			out       io.Reader
			complaint *bytes.Buffer
		}
		ended := cmd
		for locked := 0; ; locked++ { // until the one before has let go
			cmd, next.out, next.complaint = start(t, nil, append(args, "-resume")...)
			lines := bufio.NewReader(next.out)
			line, _ := lines.ReadString('\n')
			if line != "" {
				next.out = lines
				break
			}
			cmd.Wait()
			if !strings.Contains(next.complaint.String(), "in use by another process") || locked == 1000 {
				t.Fatalf("try %d: %s", try, next.complaint)
			}
		}
		ended.Wait()
		said, first := 0, 0
		_, after, _ := strings.Cut(complaint.String(), "saved at step ")
		if _, err := fmt.Sscanf(after, "%d", &said); err != nil {
			t.Fatalf("try %d: the run before said %q", try, complaint)
		}
		for lines := bufio.NewScanner(next.out); lines.Scan(); {
			if _, err := fmt.Sscanf(lines.Text(), "step %d/", &first); err == nil {
				break
			}
		}
		if first != said+1 {
			t.Errorf("try %d: step %d was saved, the next run begins with step %d", try, said, first)
		}
		go io.Copy(io.Discard, next.out)
		complaint = next.complaint
	}
}
