package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pedestrian-ml/pedestrian/internal/heap"
)

func TestMain(m *testing.M) {
	heap.Limit()
	os.Exit(m.Run())
}

// small returns the flags of a short run into dir.
func small(dir string, more ...string) []string {
	return append([]string{"-out_dir", dir, "-below", "300", "-held_out", "0.1", "-n_layer", "1", "-n_head", "2",
		"-n_embd", "16", "-threads", "1",
		"-batch_size", "8", "-max_iters", "6", "-warmup_iters", "2", "-log_interval", "2", "-eval_interval", "3",
		"-tests", "20"}, more...)
}

// do runs the program in this process and returns its output.
func do(ctx context.Context, args ...string) (string, error) {
	var out, complaint bytes.Buffer
	err := run(ctx, args, &out, &complaint)
	return out.String(), err
}

func mustDo(t *testing.T, args ...string) string {
	t.Helper()
	out, err := do(t.Context(), args...)
	if err != nil {
		t.Fatalf("%+v\n%s", err, out)
	}
	return out
}

func want(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(out, word) {
			t.Errorf("%q is not in\n%s", word, out)
		}
	}
}

// The complete way: train, check held-out texts, compare, save, and translate with the saved model.
func TestTranslate(t *testing.T) {
	dir := t.TempDir()
	out := mustDo(t, small(dir, "-beams", "3")...)
	want(t, out, "1 + 1 blocks, pre-norm", "numbers: ", "step 2/6 | loss ", "| eta ", "step 3: ",
		"held-out texts are translated right", "trained 6 steps",
		"greedy  exact match ", "beam-3  exact match ", "mean ln p", "ms each", "| right: ")
	out = mustDo(t, "-out_dir", dir, "-translate", "two hundred and forty-two", "-beams", "3", "-length_penalty", "1")
	if got := strings.Count(out, "  p = "); got != 3 {
		t.Errorf("%d translations with p, want 3\n%s", got, out)
	}
}

// An interrupt after any step, also before an evaluation, changes neither the weights, nor the lowest loss, nor when
// patience runs out, and loses no line of the metrics.
func TestInterruptBeforeEvaluation(t *testing.T) {
	whole, halted := t.TempDir(), t.TempDir()
	more := []string{
		"-patience", "2", "-eval_interval", "2", "-log_interval", "1", "-max_iters", "9", "-learning_rate", "0.1",
	}
	mustDo(t, small(whole, more...)...)
	for step, args := 1, small(halted, more...); ; step, args = step+1, small(halted, append(more, "-resume")...) {
		ctx, cancel := context.WithCancel(t.Context())
		out := writer(func(line string) {
			if strings.HasPrefix(line, fmt.Sprintf("step %d/", step)) {
				cancel()
			}
		})
		if err := run(ctx, args, out, out); err == nil {
			break
		} else if !strings.Contains(err.Error(), fmt.Sprintf("saved at step %d,", step)) {
			t.Fatal(err)
		}
	}
	var metrics [2]string
	var states [2]struct {
		Step  int     `json:"step"`
		Best  float64 `json:"best_val_loss"`
		Since int     `json:"evals_since_best"`
	}
	var best, weights [2][]string
	for i, dir := range []string{whole, halted} {
		lines, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(lines)) {
			if !strings.Contains(line, "exact_match") { // which is only shown
				metrics[i] += regexp.MustCompile(`,"(ms|tok_per_s|gflops|eta_s)":[\d.e+-]+`).ReplaceAllString(line, "")
			}
		}
		steps, err := filepath.Glob(filepath.Join(dir, "step-*", "state.json"))
		if err != nil || len(steps) == 0 {
			t.Fatal(err)
		}
		newest, err := os.ReadFile(filepath.Join(filepath.Dir(steps[len(steps)-1]), "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		weights[i] = []string{string(newest)}
		data, err := os.ReadFile(steps[len(steps)-1])
		if err == nil {
			err = json.Unmarshal(data, &states[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		if best[i], err = filepath.Glob(filepath.Join(dir, "best", "step-*")); err != nil {
			t.Fatal(err)
		}
		for j := range best[i] {
			best[i][j] = filepath.Base(best[i][j])
		}
		if _, err := os.Stat(filepath.Join(dir, "loss.png")); err != nil {
			t.Error(err)
		}
	}
	if metrics[0] != metrics[1] || states[0] != states[1] || !slices.Equal(best[0], best[1]) || states[0].Best == 0 ||
		!slices.Equal(weights[0], weights[1]) {
		t.Errorf(
			"-whole +halted:\n%s%+v, %s, want %+v, %s", cmp.Diff(metrics[0], metrics[1]), states[1], best[1], states[0],
			best[0],
		)
	}
}

// A damaged checkpoint is skipped and reported, when translating and when resuming.
func TestPassedOver(t *testing.T) {
	dir := t.TempDir()
	mustDo(t, small(dir)...)
	if err := os.Truncate(filepath.Join(dir, "step-00000006", "model.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-out_dir", dir, "-translate", "two"}, small(dir, "-resume")} {
		var out, said bytes.Buffer
		if err := run(t.Context(), args, &out, &said); err != nil {
			t.Fatalf("%+v", err)
		}
		want(t, said.String(), "skipped: ", "step-00000006", "model.safetensors: got 100 bytes")
	}
	want(t, mustDo(t, "-out_dir", dir, "-translate", "two"), "  p = ")
}

type writer func(string)

func (w writer) Write(p []byte) (int, error) { w(string(p)); return len(p), nil }

func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pairs.tsv")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// A checkpoint stores its network and its texts: -resume alone continues to the same weights as an uninterrupted run,
// and -translate alone translates. A finished run prints how to continue it.
func TestTheCheckpointSaysTheRest(t *testing.T) {
	var lines strings.Builder
	for _, word := range strings.Fields("one two three four five six seven eight nine ten eleven twelve") {
		lines.WriteString("house " + word + "\tcasa " + word + "\n")
	}
	pairs := written(t, lines.String())
	for _, given := range [][]string{
		{"-data", pairs, "-target_unit", "words", "-held_out", "0.3", "-seed", "5"},
		{"-source_unit", "characters", "-block", "post"},
	} {
		whole, halves := t.TempDir(), t.TempDir()
		mustDo(t, small(whole, append(given, "-lr_decay_iters", "6")...)...)
		mustDo(t, small(halves, append(given, "-lr_decay_iters", "6", "-max_iters", "4")...)...)
		want(
			t, mustDo(t, "-out_dir", halves, "-resume", "-max_iters", "6", "-tests", "5"), "trained 2 steps",
			"greedy  exact match",
		)
		var weights [2][]byte
		for i, dir := range []string{whole, halves} {
			data, err := os.ReadFile(filepath.Join(dir, "step-00000006", "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			weights[i] = data
		}
		if !bytes.Equal(weights[0], weights[1]) {
			t.Errorf("%v: the resumed run has other weights than the one that was given all at once", given)
		}
		before, err := os.ReadFile(filepath.Join(halves, "metrics.jsonl"))
		if err != nil || strings.Count(string(before), `"loss":`) != 6 || !strings.HasSuffix(string(before), "}\n") ||
			!strings.Contains(string(before), `{"beam-4":`) {
			t.Errorf("the metrics: %v\n%s", err, before)
		}
		out := mustDo(t, "-out_dir", halves, "-resume")
		if want(
			t, out,
			halves+": finished at step 6 of max_iters 6; -resume -max_iters 12 continues it, -translate TEXT "+
				"translates",
		); strings.Count(out, "\n") != 1 {
			t.Errorf("got %q", out)
		}
	}
}

// -help lists only the program's own flags.
func TestHelp(t *testing.T) {
	var out, said bytes.Buffer
	if err := run(t.Context(), []string{"-help", "all"}, &out, &said); err != flag.ErrHelp {
		t.Error(err)
	}
	want(
		t, said.String(), "\ntranslating: translating, after the training or alone\n  -beams int", "  -source_size int",
		"  -held_out float", "(default 1500)",
	)
	if strings.Contains(said.String(), "eval_iters") {
		t.Errorf("a flag that is not read:\n%s", said.String())
	}
}

// Flags are checked before texts are read.
func TestFlagsBeforeTheTexts(t *testing.T) {
	dir := t.TempDir()
	for word, args := range map[string][]string{
		"n_head":                          {"-n_head", "3"},
		"learning_rate":                   {"-learning_rate", "0"},
		"mixed_keys: got 9, want a whole": {"-attention", "linformer", "-source_size", "3", "-mixed_keys", "9"},
		"-source_unit":                    {"-source_unit", "syllables"},
		"held_out":                        {"-held_out", "0"},
	} {
		_, err := do(t.Context(), small(dir, append(args, "-data", filepath.Join(dir, "none"))...)...)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: got %v", args, err)
		}
	}
	// Errors that depend on the texts come later.
	if _, err := do(t.Context(), small(dir, "-attention", "linformer", "-mixed_keys", "3")...); err == nil ||
		!strings.Contains(err.Error(), "source_size is 4") {
		t.Errorf("as many mixtures as there will be keys: %v", err)
	}
}

// -minutes ends the training before max_iters does.
func TestMinutes(t *testing.T) {
	want(
		t, mustDo(t, small(t.TempDir(), "-minutes", "1e-9", "-max_iters", "1000000")...), "trained 0 steps",
		"greedy  exact match",
	)
}

// A user's file is translated with words as tokens.
func TestData(t *testing.T) {
	var lines strings.Builder
	lines.WriteString("\ufeffgood morning\tbuon giorno\r\n\n")
	for _, word := range strings.Fields("one two three four five six seven eight nine ten eleven twelve") {
		lines.WriteString("house " + word + "\tcasa " + word + "\n")
	}
	out := mustDo(
		t, small(t.TempDir(), "-data", written(t, lines.String()), "-target_unit", "words", "-held_out", "0.3")...,
	)
	want(
		t, out, "sources of at most 2 words, 19 different", "targets of at most 2 words, 19 different",
		"greedy  exact match",
	)
}

// Impossible settings are errors with the reason and the place.
func TestRefused(t *testing.T) {
	taken, empty := t.TempDir(), t.TempDir()
	mustDo(t, small(taken)...)
	for _, tc := range []struct {
		args  []string
		words []string
	}{
		{small(taken), []string{"out_dir", taken, "step 6", "-resume"}},
		// before what out_dir holds
		{small(taken, "-n_head", "3"), []string{"n_head: 3 heads do not divide n_embd 16"}},
		{small(taken, "-threads", "5000"), []string{"threads: got 5000, want a whole number, 0 to 4096"}},
		{small(taken, "-resume", "-n_embd", "32"), []string{"n_embd", "got 32", "want 16"}},
		{small(taken, "-resume", "-below", "90"), []string{"-resume", "below: got 90, want 300 as saved"}},
		{small(empty, "-resume"), []string{"no checkpoint", empty}},
		{[]string{"-out_dir", empty, "-translate", "two"},
			[]string{"no checkpoint; go run ./examples/translate -out_dir " + empty + " trains a model first"}},
		{
			[]string{"-out_dir", taken, "-translate", "two millions"},
			[]string{"-translate", `"millions"`, "number 2", "vocabulary"},
		},
		{
			[]string{"-out_dir", taken, "-translate", "two two two two two two two two two"},
			[]string{"the source has 9 tokens, source_size is 4"},
		},
		{small(empty, "-n_head", "3"), []string{"n_head", "3", "16"}},
		{small(empty, "-block", "mid"), []string{"block", "got mid", "pre, post"}},
		{
			small(empty, "-target_size", "4"),
			[]string{"target_size: got 4", "the longest target has 25 tokens with its end"},
		},
		{small(empty, "-target_size", "24"), []string{"target_size: got 24", "has 25 tokens"}},
		{small(empty, "-source_size", "3"), []string{"source_size: got 3", "the longest source has 4 tokens"}},
		{small(empty, "-source_vocab", "9"), []string{"source_vocab: got 9", "different tokens"}},
		{small(taken, "-resume", "-held_out", "0.3"), []string{"-resume", "held_out: got 0.3, want 0.1 as saved"}},
		{
			small(taken, "-resume", "-below", "299", "-source_unit", "characters"),
			[]string{"below: got 299, want 300 as saved; source_unit: got characters, want words as saved"},
		},
		{
			small(taken, "-resume", "-data", written(t, "a\tb\nc\td\n")),
			[]string{"another text", `"numbers"`, "pairs.tsv"},
		},
		{[]string{"-out_dir", taken, "-translate", "two", "-n_layer", "2"}, []string{"n_layer", "got 2", "want 1"}},
		{small(empty, "-below", "2000000"), []string{"-below", "2000000", "1000000"}},
		{small(empty, "-beams", "0"), []string{"-beams", "0"}},
		{small(empty, "-length_penalty", "-1"), []string{"-length_penalty", "-1"}},
		{small(empty, "-held_out", "1"), []string{"-held_out", "got 1"}},
		{small(empty, "-source_unit", "syllables"), []string{"-source_unit", `"syllables"`, "words, characters"}},
		{small(empty, "extra"), []string{`unexpected argument "extra"`}},
		{small(empty, "-data", filepath.Join(empty, "none")), []string{"-data", "none"}},
		{small(empty, "-data", written(t, "a\tb\nc d\n")), []string{"-data", "pairs.tsv:2", "1 columns, want 2"}},
		{small(empty, "-data", written(t, "a\tb\n\na\tb\tc\n")), []string{"pairs.tsv:3", "3 columns, want 2"}},
		{small(empty, "-data", written(t, "a\t \n")), []string{"pairs.tsv:1", "an empty column"}},
		{small(empty, "-data", written(t, "a\tb\nc\t\xff\n")), []string{"pairs.tsv:2", "UTF-8"}},
		{small(empty, "-data", written(t, "a\tb\n")), []string{"to train on", "held out"}},
	} {
		_, err := do(t.Context(), tc.args...)
		if err == nil {
			t.Errorf("%v: no error", tc.args)
			continue
		}
		for _, word := range tc.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%v: %q is not in: %v", tc.args, word, err)
			}
		}
	}
}

// Held-out sources never occur in the training, and short numbers are listed more often.
func TestHeldOut(t *testing.T) {
	held := pairing{SourceUnit: "words", TargetUnit: "characters", HeldOut: 0.1}
	c := numbers(3000)
	if err := c.prepare(held); err != nil {
		t.Fatal(err)
	}
	times := map[int]int{}
	for _, n := range c.train {
		times[n]++
	}
	for _, n := range c.held {
		if times[n] > 0 {
			t.Errorf("%d is held out and trained on", n)
		}
		times[n] = -1
	}
	for n := range 3000 {
		if expected := map[bool]int{true: 50, false: 1}[n < 1000]; times[n] != -1 && times[n] != expected {
			t.Errorf("%d is listed %d times, want %d", n, times[n], expected)
		}
	}
	if share := float64(len(c.held)) / 3000; !(0.07 < share && share < 0.13) {
		t.Errorf("%.3f are held out, want about 0.1", share)
	}
	again := numbers(3000)
	if err := again.prepare(held); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.held, again.held); diff != "" {
		t.Errorf("other texts are held out the second time: %s", diff)
	}
}

// With -patience a half of the held-out texts ends the training, and the other half is translated; the models of the
// lowest loss and of the averages translate.
func TestPatienceAndAverages(t *testing.T) {
	dir := t.TempDir()
	out := mustDo(
		t,
		small(
			dir, "-patience", "1", "-ema", "0.5", "-eval_interval", "2", "-max_iters", "60", "-learning_rate", "0.5",
		)...,
	)
	held := regexp.MustCompile(`, (\d+) held out`).FindStringSubmatch(out)
	if held == nil || strings.Contains(out, "step 60:") {
		t.Fatalf("want an end before step 60 in\n%s", out)
	}
	n, _ := strconv.Atoi(held[1])
	want(t, out, "(-patience); -resume continues", fmt.Sprintf("loss of %d held-out texts", (n+1)/2),
		fmt.Sprintf(" of %d held-out texts)", min(20, n/2)), "greedy, averaged weights: exact match ")
	for _, name := range []string{bestDir, averagedDir} {
		at := filepath.Join(dir, name)
		want(t, mustDo(t, "-out_dir", at, "-translate", "two hundred"), "  p = ")
	}
	_, err := do(t.Context(), small(t.TempDir(), "-patience", "1", "-below", "20", "-held_out", "0.02")...)
	if err == nil || !strings.Contains(err.Error(), "patience: got 1 with 1 held-out text, want at least 2") {
		t.Errorf("got %v", err)
	}
}
