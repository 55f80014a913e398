package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

// mainVariable makes the test binary the program itself.
const mainVariable = "TINYSHAKESPEARE_MAIN"

func TestMain(m *testing.M) {
	heap.Limit()
	if os.Getenv(mainVariable) != "" {
		writeRank()
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// small returns the flags of a run of six steps into dir.
func small(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "verses.txt")
	verses := strings.Repeat(
		"MILLER:\nThe wheel goes round, the water pays no rent.\n\nFERRYMAN:\nThen cross with me!\n\n", 9,
	)
	if err := os.WriteFile(data, []byte(verses), 0o644); err != nil {
		t.Fatal(err)
	}
	return append([]string{"-data", data, "-out_dir", dir, "-n_layer", "1", "-n_head", "2", "-n_embd", "8",
		"-block_size", "8",
		"-batch_size", "2", "-dropout", "0.1", "-max_iters", "6", "-warmup_iters", "2", "-lr_decay_iters", "6",
		"-eval_interval", "2", "-eval_iters", "1", "-tokens", "20"}, more...)
}

// do runs the program in this process and returns its output.
func do(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, complaint bytes.Buffer
	err = run(ctx, args, &out, &complaint)
	return out.String(), complaint.String(), err
}

func mustDo(t *testing.T, args ...string) string {
	t.Helper()
	out, complaint, err := do(t.Context(), args...)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, complaint)
	}
	return out
}

// start runs the program as a process.
func start(t *testing.T, env []string, args ...string) (cmd *exec.Cmd, out io.Reader, complaint *bytes.Buffer) {
	t.Helper()
	cmd, complaint = exec.Command(os.Args[0], args...), new(bytes.Buffer)
	cmd.Env = append(append(os.Environ(), mainVariable+"=1"), env...)
	cmd.Stderr = complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, out, complaint
}

func waitFor(t *testing.T, out io.Reader, beginning string) {
	t.Helper()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), beginning) {
			go io.Copy(io.Discard, out)
			return
		}
	}
	t.Fatalf("the program ended without writing %q", beginning)
}

// lines returns the objects of metrics.jsonl, without the times and the end of the run.
func lines(t *testing.T, dir string) (list []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, time := range []string{"ms", "tok_per_s", "gflops", "eta_s", "max_iters"} {
			delete(m, time)
		}
		list = append(list, m)
	}
	return list
}

// Impossible settings are errors with the reason and the place, and change nothing.
func TestRefused(t *testing.T) {
	taken, empty := t.TempDir(), t.TempDir()
	mustDo(t, small(t, taken, "-tokens", "0")...)
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	short := file("too short")
	for _, tc := range []struct {
		args  []string
		words []string
	}{
		{small(t, taken), []string{"out_dir", taken, "step 6", "-resume"}},
		{small(t, taken, "-resume", "-n_embd", "16"), []string{"n_embd", "got 16", "want 8"}},
		{
			small(t, taken, "-resume", "-data", file(strings.Repeat("a new text\n", 50))),
			[]string{"another text", "verses.txt", "file", "sha256"},
		},
		{small(t, empty, "-resume"), []string{"-resume", "no checkpoint", empty}},
		{[]string{"-sample_only", "-out_dir", empty}, []string{"no checkpoint", empty}},
		{[]string{"-sample_only", "-out_dir", taken, "-prompt", "ü"}, []string{"-prompt", "'ü'", "vocabulary"}},
		{[]string{"-sample_only", "-out_dir", taken, "-prompt", ""}, []string{"-prompt", "empty"}},
		{small(t, empty, "-prompt", "ü"), []string{"-prompt", "'ü'"}},
		{small(t, empty, "-prompt", ""), []string{"-prompt", "empty"}},
		{small(t, empty, "-temperature", "-1"), []string{"temperature", "-1"}},
		{small(t, empty, "-top_p", "2"), []string{"top_p", "2"}},
		{small(t, empty, "-min_p", "-1"), []string{"min_p", "-1"}},
		{small(t, empty, "-repetition_penalty", "NaN"), []string{"repetition_penalty", "NaN"}},
		{small(t, empty, "-stop", ""), []string{"-stop", "empty"}},
		{small(t, empty, "-weights", "int3"), []string{`-weights: got "int3", want bf16, int8 or int4`}},
		{small(t, empty, "-curvature", "-sample_only"), []string{"-curvature: it measures a training"}},
		{
			[]string{"-sample_only", "-out_dir", taken, "-weights", "bf16", "-kernels=false"},
			[]string{"-weights", "kernels false"},
		},
		{small(t, empty, "-n_head", "3"), []string{"n_head", "3", "8"}},
		{small(t, empty, "-dropout", "1"), []string{"dropout", "got 1"}},
		{small(t, empty, "-learning_rate", "NaN"), []string{"learning_rate", "NaN"}},
		{small(t, empty, "-no_such_flag"), []string{"no_such_flag"}},
		{small(t, empty, "argument"), []string{"argument", "-help"}},
		{small(t, empty, "-config", filepath.Join(empty, "none.json")), []string{filepath.Join(empty, "none.json")}},
		{small(t, empty, "-config", file(`{"n_layers": 2}`)), []string{"n_layers", "n_layer?"}},
		{small(t, empty, "-config", file(`{"n_layer": "2"}`)), []string{"n_layer", `"2"`}},
		{small(t, empty, "-config", file(`{"n_layer": 2`)), []string{"config"}},
		{small(t, empty, "-data", filepath.Join(empty, "none.txt")), []string{filepath.Join(empty, "none.txt")}},
		{small(t, empty, "-data", empty), []string{empty, "directory"}},
		{small(t, empty, "-data", short), []string{short, "block_size"}},
		{small(t, empty, "-data", file("")), []string{"empty"}},
		{small(t, ""), []string{"directory's name is empty"}},
		{small(t, "", "-resume"), []string{"directory's name is empty"}},
		{[]string{"-sample_only", "-out_dir", ""}, []string{"directory's name is empty"}},
	} {
		_, _, err := do(t.Context(), tc.args...)
		if err == nil {
			t.Errorf("%q: done, want an error with %q", tc.args, tc.words)
			continue
		}
		for _, w := range tc.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: got %q, want %q in it", tc.args, err, w)
			}
		}
	}
	if found, err := os.ReadDir(empty); err != nil || len(found) > 0 {
		t.Errorf("the refused runs left %v (%v)", found, err)
	}
	if cp, err := checkpoint.Load(taken); err != nil || cp.Step != 6 {
		t.Errorf("the run that was there is gone: %v", err)
	}
}

func TestExitStatus(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.txt")
	for _, tc := range []struct {
		args []string
		code int
		word string
	}{
		{[]string{"-data", missing}, 1, "tinyshakespeare: corpus: stat " + missing},
		{[]string{"-no_such_flag"}, 1, "no_such_flag"},
		{[]string{"-help"}, 0, "-help TOPIC"},
		{[]string{"-help", "training"}, 0, "-gradient_accumulation_steps"},
	} {
		cmd, out, complaint := start(t, nil, tc.args...)
		io.Copy(io.Discard, out)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != tc.code || !strings.Contains(complaint.String(), tc.word) {
			t.Errorf("%q: exit status %d and %q, want %d and %q", tc.args, got, complaint, tc.code, tc.word)
		}
		if strings.Contains(complaint.String(), "goroutine ") {
			t.Errorf("%q: %s", tc.args, complaint)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	out := mustDo(t, small(t, dir, "-prompt", "The ")...)
	for _, want := range []string{"parameters", "tokens", "step 6/6 | loss ", " | norm ", " | lr ", " ms | ",
		" GFLOP/s | ", " tok/s | eta ",
		"step 6: train loss ", "val loss over the entire split: ", "\nThe ", "20 characters"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in the output:\n%s", want, out)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff(
		[]string{".lock", "certificate.json", "config.json", "loss.png", "metrics.jsonl", "step-00000004",
			"step-00000006"}, names,
	); diff != "" {
		t.Errorf("out_dir (-want +got):\n%s", diff)
	}

	data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	evaluation := "bits_per_byte bits_per_char step train_loss val_loss"
	step := "gflops loss lr max_iters ms norm step tok_per_s"
	want := []string{
		evaluation, step, step, evaluation, step, step, evaluation, step, step, evaluation,
		"bits_per_byte val_loss_full",
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		var m map[string]float64
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		delete(m, "eta_s") // only if it is a second or more
		got = append(got, strings.Join(slices.Sorted(maps.Keys(m)), " "))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys of metrics.jsonl (-want +got):\n%s", diff)
	}

	f, err := os.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := gpt.ReadConfig(f, gpt.Config{})
	if err != nil || c.NEmbd != 8 || c.VocabSize == 0 || c.OutDir != dir {
		t.Errorf("config.json holds %+v (%v)", c, err)
	}

	picture, err := os.Open(filepath.Join(dir, "loss.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer picture.Close()
	if image, err := png.Decode(picture); err != nil || image.Bounds().Dx() < 400 {
		t.Errorf("loss.png: %v", err)
	}
}

// With -ema the evaluations have the loss of the averaged weights, which are saved in a directory of their own, also
// when the run goes on.
func TestAveraged(t *testing.T) {
	dir := t.TempDir()
	args := small(t, dir, "-ema", "0.9", "-tokens", "0")
	if out := mustDo(t, args...); !strings.Contains(out, "\n  averaged weights ") {
		t.Errorf("got %s", out)
	}
	mustDo(t, append(args, "-resume", "-max_iters", "7")...)
	evaluations := 0
	for _, m := range lines(t, dir) {
		if m["val_loss"] != nil && m["val_loss_ema"] != nil {
			evaluations++
		}
	}
	if evaluations < 4 {
		t.Errorf("got %d evaluations with val_loss_ema, want 4 or more", evaluations)
	}
	averaged := filepath.Join(dir, "averaged")
	present, _, err := gpt.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := gpt.Open(averaged)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Params() {
		if slices.Equal(p.Tensor().F32, present.Params()[i].Tensor().F32) {
			t.Errorf("%s: the average is the weight", p.Name())
		}
	}
	if cp, err := checkpoint.Load(averaged); err != nil || cp.Step != 7 {
		t.Errorf("the average is not of step 7: %v", err)
	}
}

// With -patience a run stops after that number of evaluations without a new lowest loss, keeps the best model, and
// waits for as many again when it is resumed.
func TestPatience(t *testing.T) {
	const patience = 3
	dir := t.TempDir()
	args := small(
		t, dir, "-patience", strconv.Itoa(patience), "-eval_interval", "1", "-learning_rate", "1e-30", "-min_lr", "0",
		"-max_iters", "60", "-tokens", "0",
	)
	from := 0 // the evaluation at which the program begins
	for _, resume := range [][]string{nil, {"-resume"}} {
		out := mustDo(t, append(args, resume...)...)
		var losses []float64
		for _, m := range lines(t, dir) {
			if m["val_loss"] != nil {
				losses = append(losses, m["val_loss"].(float64))
			}
		}
		best, since, stop := 0, 0, -1
		for i, loss := range losses {
			if since++; i == 0 || loss < losses[best] {
				best, since = i, 0
			}
			if i >= from && since > 0 && since%patience == 0 && (i > from || from == 0) && stop < 0 {
				stop = i
			}
		}
		if stop != len(losses)-1 || stop >= 60 || !strings.Contains(
			out, fmt.Sprintf("stopped at step %d of 60: %d evaluations without", stop, since),
		) {
			t.Errorf("%v: stopped after evaluation %d of %v, want %d:\n%s", resume, len(losses)-1, losses, stop, out)
		}
		if cp, err := checkpoint.Load(filepath.Join(dir, "best")); err != nil || cp.Step != best {
			t.Errorf("%v: the best model is not of step %d: %v", resume, best, err)
		}
		from = len(losses) - 1
	}
}

// A run that was killed between a checkpoint and its best model has that model when it is resumed.
func TestBestAfterKill(t *testing.T) {
	dir := t.TempDir()
	args := small(
		t, dir, "-patience", "9", "-eval_interval", "1", "-learning_rate", "1e-2", "-max_iters", "3", "-tokens", "0",
	)
	mustDo(t, args...)
	var state struct {
		Since int `json:"evals_since_best"`
	}
	cp, err := checkpoint.Load(dir)
	if err == nil {
		err = train.PeekJSON(cp, train.StateFile, &state)
	}
	if err != nil || state.Since != 0 {
		t.Fatalf("the last evaluation is not the best: %+v, %v", state, err)
	}
	metrics := filepath.Join(dir, "metrics.jsonl")
	data, err := os.ReadFile(metrics)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndexByte(bytes.TrimSpace(data), '\n') + 1 // before the line that says that the run is finished
	if err := errors.Join(
		os.WriteFile(metrics, data[:end], 0o600), os.RemoveAll(filepath.Join(dir, "best")),
	); err != nil {
		t.Fatal(err)
	}
	mustDo(t, append(args, "-resume")...)
	if cp, err := checkpoint.Load(filepath.Join(dir, "best")); err != nil || cp.Step != 3 {
		t.Errorf("the best model is not of step 3: %v", err)
	}
}

// A file of settings overrides the recipe, and a flag overrides the file, wherever it stands.
func TestConfigFile(t *testing.T) {
	dir := t.TempDir()
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(
		settings, []byte(`{"n_layer": 3, "max_iters": 4, "eval_interval": 3, "head": "linear"}`), 0o644,
	); err != nil {
		t.Fatal(err)
	}
	c, o, err := parse(
		gpt.Shakespeare(), []string{"-max_iters", "2", "-config", settings, "-out_dir", dir, "-top_k", "5"}, io.Discard,
	)
	if err != nil {
		t.Fatal(err)
	}
	if c.NLayer != 3 || c.MaxIters != 2 || c.EvalInterval != 3 || c.Head != "linear" || c.OutDir != dir ||
		c.NHead != gpt.Shakespeare().NHead || o.sampling.TopK != 5 {
		t.Errorf("got %+v", c)
	}
}

// A preset replaces the recipe; a file overrides it, and a flag both. An unknown one is refused with the nearest.
func TestPreset(t *testing.T) {
	settings := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(settings, []byte(`{"n_head": 3, "n_layer": 4}`), 0o644); err != nil {
		t.Fatal(err)
	}
	c, o, err := parse(
		gpt.Shakespeare(), []string{"-n_layer", "2", "-preset", "baby", "-config", settings, "-stop", "x"}, io.Discard,
	)
	if err != nil {
		t.Fatal(err)
	}
	want := gpt.Baby()
	want.NHead, want.NLayer = 3, 2
	if diff := cmp.Diff(want, c); diff != "" || len(o.stop) != 1 {
		t.Errorf("-want +got:\n%s, stops %q", diff, o.stop)
	}
	_, _, err = parse(gpt.Shakespeare(), []string{"-preset", "Babby"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "preset: got Babby, want one of shakespeare, ") ||
		!strings.HasSuffix(err.Error(), "did you mean baby?") {
		t.Errorf("got error %v", err)
	}
}

func TestSampleOnly(t *testing.T) {
	dir := t.TempDir()
	trained := mustDo(t, small(t, dir, "-prompt", "FERRY", "-seed", "3")...)
	text := func(out string) string { // from the prompt to the line with the speed
		_, out, _ = strings.Cut(out, "\nFERRY")
		out, _, _ = strings.Cut(out, "\n\n20 characters")
		return out
	}
	args := []string{"-sample_only", "-out_dir", dir, "-prompt", "FERRY", "-tokens", "20", "-seed", "3"}
	if got, want := text(mustDo(t, args...)), text(trained); got != want || len([]rune(got)) != 20 {
		t.Errorf("the checkpoint writes %q, the run that saved it wrote %q", got, want)
	}
	if got := text(mustDo(t, append(args, "-kernels=false")...)); got != text(trained) {
		t.Errorf("the reference, from the checkpoint, writes %q, want %q", got, text(trained))
	}
	if got := text(mustDo(t, append(args, "-weights", "bf16")...)); len([]rune(got)) != 20 {
		t.Errorf("with weights of fewer bits it writes %q, want 20 characters", got)
	}
	if out := mustDo(t, append(args, "-tokens", "0")...); out != "" {
		t.Errorf("no tokens were asked for, got %q", out)
	}
	stop := text(trained)[7:10]
	want, _, _ := strings.Cut(text(trained), stop)
	stopped := mustDo(t, append(args, "-stop", "no such text", "-stop", stop)...)
	if line := fmt.Sprintf("FERRY%s\n\n%d characters, ", want, len(want+stop)); !strings.Contains(stopped, line) {
		t.Errorf("until %q: got %q, want it to contain %q", stop, stopped, line)
	}
	greedy := text(mustDo(t, append(args, "-temperature", "0")...))
	if got := text(mustDo(t, append(args, "-min_p", "1")...)); got != greedy {
		t.Errorf("-min_p 1 writes %q, -temperature 0 %q", got, greedy)
	}
	if got := text(mustDo(t, append(args, "-temperature", "0", "-repetition_penalty", "9")...)); got == greedy {
		t.Errorf("with a repetition penalty it still writes %q", got)
	}
}

// max_iters may be raised: the run continues from its last step.
func TestGoOn(t *testing.T) {
	dir := t.TempDir()
	args := small(t, dir, "-tokens", "0")
	mustDo(t, args...)
	mustDo(t, append(args, "-resume", "-max_iters", "9")...)
	cp, err := checkpoint.Load(dir)
	if err != nil || cp.Step != 9 {
		t.Errorf("the newest checkpoint is not of step 9: %v", err)
	}
	counts := map[string]int{}
	for _, m := range lines(t, dir) {
		for key := range m {
			counts[key]++
		}
	}
	want := map[string]int{
		"step": 9 + 6, "loss": 9, "lr": 9, "norm": 9, "train_loss": 6, "val_loss": 6, "bits_per_char": 6,
		"bits_per_byte": 7, "val_loss_full": 1,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("lines of metrics.jsonl by key (-want +got):\n%s", diff)
	}
}

// Without a network the program prints that and trains on the built-in text.
func TestStandin(t *testing.T) {
	cache, dir := t.TempDir(), t.TempDir()
	nowhere := "http://127.0.0.1:1"
	env := []string{
		"XDG_CACHE_HOME=" + cache, "HOME=" + cache, "HTTPS_PROXY=" + nowhere, "https_proxy=" + nowhere, "NO_PROXY=",
		"no_proxy=",
	}
	args := small(t, dir, "-data", "", "-block_size", "64", "-batch_size", "64", "-max_iters", "1", "-tokens", "0")
	cmd, out, complaint := start(t, env, args...)
	written, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err, complaint)
	}
	if s := complaint.String(); strings.Count(s, "\n") != 1 || !strings.Contains(s, "using the built-in stand-in") {
		t.Errorf("said %q, want one line about the stand-in", s)
	}
	for _, want := range []string{"built-in stand-in", "nats per character", "above the text's own"} {
		if !strings.Contains(string(written), want) {
			t.Errorf("%q is not in the output:\n%s", want, written)
		}
	}
}

// A network may have more tokens than the text: the program says so before the first step, and writes none of them.
func TestPaddedVocabulary(t *testing.T) {
	dir := t.TempDir()
	out := mustDo(t, small(t, dir, "-vocab_size", "5000", "-max_iters", "1", "-tokens", "40")...)
	before, _, _ := strings.Cut(out, "step 1:")
	if want := "vocab_size 5,000: the model never writes the 4,9"; !strings.Contains(before, want) {
		t.Errorf("got %s, want %q in it", before, want)
	}
	if !strings.Contains(out, "40 characters, ") {
		t.Errorf("got %s, want a sample", out)
	}
	mustDo(t, "-sample_only", "-out_dir", dir, "-tokens", "40")
	if out := mustDo(t, small(t, t.TempDir(), "-max_iters", "1")...); strings.Contains(out, "never writes") {
		t.Errorf("got %s, want no word of other tokens", out)
	}
}
