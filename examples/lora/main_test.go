package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text.txt")
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func hens() string { return strings.Repeat("the hen has a nest\n", 30) }

// small returns the flags of a run that trains a base of one layer for three steps and tunes it for eight.
func small(t *testing.T, dir string, more ...string) []string {
	t.Helper()
	old := written(t, strings.Repeat("MILLER:\nThe wheel goes round, the water pays no rent.\n\nFERRYMAN:\nThen cross with me!\n\n", 9))
	other := written(t, hens())
	args := []string{"-base_data", old, "-data", other, "-out_dir", dir}
	if !slices.Contains(more, "-checkpoint") {
		args = append(args, "-checkpoint", filepath.Join(dir, "none"), "-base_iters", "3")
	}
	return append(append(args, "-n_layer", "1", "-n_head", "2", "-n_embd", "8", "-block_size", "8", "-batch_size", "2", "-max_iters", "8", "-warmup_iters", "1", "-lr_decay_iters", "8", "-lora_r", "2", "-tokens", "5", "-prompt", "The"), more...)
}

// The report's numbers are consistent, and the merged checkpoint is an ordinary one.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var out, complaint bytes.Buffer
	if err := run(t.Context(), small(t, dir, "-lora_alpha", "16"), &out, &complaint); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(complaint.String(), "holds no checkpoint: training a model for 3 steps") {
		t.Errorf("got %q", complaint.String())
	}
	for _, want := range []string{"rank 2, 288 of 1416 parameters trained (20.3 %)", "--- before ---\nThe", "--- after ---\nThe"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwant %q in it", out.String(), want)
		}
	}
	rows := regexp.MustCompile(`text\.txt +(\S+) +(\S+) +(\S+) +(\S+)\n`).FindAllStringSubmatch(out.String(), -1)
	if len(rows) != 2 {
		t.Fatalf("got %d rows in\n%s", len(rows), out.String())
	}
	number := func(s string) float64 {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, r := range rows {
		if off := number(r[4]); !(math.Abs(off) <= 1e-5) || r[2] != r[3] || r[1] == r[2] {
			t.Errorf("before %s, after %s, merged %s, %v off", r[1], r[2], r[3], off)
		}
	}
	if !(number(rows[0][2]) < number(rows[0][1])) {
		t.Errorf("the new text: loss %s after, %s before", rows[0][2], rows[0][1])
	}
	if got, want := rows[0][1], fmt.Sprintf("%.4f", onHens(t, filepath.Join(dir, "base"))); got != want {
		t.Errorf("the new text: loss %s before, want the base's %s", got, want)
	}
	cp, err := checkpoint.Load(filepath.Join(dir, "merged"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := gpt.LoadModel(graph.New(graph.Float32, 1), cp)
	if err != nil || m.Config.LoraR != 0 {
		t.Errorf("merged: %v", err)
	}
	adapter, err := os.Stat(filepath.Join(dir, "adapter.safetensors"))
	if err != nil || adapter.Size() < 4*288 {
		t.Errorf("adapter.safetensors: %v", err)
	}
	if !strings.Contains(out.String(), strconv.FormatInt(adapter.Size(), 10)+" bytes") {
		t.Errorf("want the file's size, %d, in\n%s", adapter.Size(), out.String())
	}

	// The saved checkpoint can be tuned, but its network cannot be changed.
	again := small(t, t.TempDir(), "-checkpoint", filepath.Join(dir, "merged"))
	if err := run(t.Context(), again, io.Discard, io.Discard); err != nil {
		t.Error(err)
	}
	refused(t, append(again, "-out_dir", t.TempDir(), "-n_embd", "16"), "n_embd", "got 16", "want 8")
}

// onHens returns the loss of a checkpoint on the other text.
func onHens(t *testing.T, dir string) float64 {
	t.Helper()
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := gpt.LoadModel(graph.New(graph.Float32, 1), cp)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := gpt.LoadTokenizer(cp)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(hens(), tok, m.Config.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.FineTune(m.Config, data, tok, cp)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := trainer.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

func refused(t *testing.T, args []string, words ...string) {
	t.Helper()
	err := run(t.Context(), args, io.Discard, io.Discard)
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%q: got %v, want %q in it", args[len(args)-2:], err, w)
		}
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	refused(t, small(t, dir, "-data", written(t, strings.Repeat("straße\tör", 30))), "3 characters", `'ß' '\t' 'ö'`, "vocabulary of")
	refused(t, small(t, dir, "-lora_r", "0"), "lora_r", "got 0")
	refused(t, small(t, dir, "-lora_targets", "c_nothing"), "lora_targets", "c_nothing")
	refused(t, small(t, dir, "-prompt", "ü"), "-prompt", "'ü'")
	refused(t, small(t, dir, "-prompt", ""), "-prompt", "empty")
	refused(t, small(t, dir, "-data", filepath.Join(dir, "none.txt")), "none.txt")
	refused(t, small(t, dir, "argument"), "argument")
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the refused runs left %v (%v)", left, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, small(t, dir), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("interrupted: got %v", err)
	}
}

// -help lists only the program's own flags; wrong flags are reported before a text is read.
func TestFlags(t *testing.T) {
	var said bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, io.Discard, &said); err != flag.ErrHelp {
		t.Error(err)
	}
	for _, flag := range []string{"eval_i", "log_i"} {
		if strings.Contains(said.String(), "\n  -"+flag) {
			t.Errorf("-%s is not read, and is listed", flag)
		}
	}
	for _, heading := range []string{"The model and the texts", "Sampling, before and after"} {
		if !strings.Contains(said.String(), "\n\n"+heading+":\n  -") {
			t.Errorf("%q is not in\n%s", heading, said.String())
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	for word, args := range map[string][]string{
		"lora_r": {"-lora_r", "0"}, "n_head": {"-n_head", "5"}, "lora_targets": {"-lora_targets", "c_nothing"}, "min_lr": {"-min_lr", "1"},
		"-prompt": {"-prompt", ""}, "-log_interval": {"-log_interval", "3"},
	} {
		refused(t, small(t, none, append(args, "-base_data", none, "-data", none)...), word)
	}
	// The same holds if the network is that of a checkpoint.
	dir := t.TempDir()
	if err := run(t.Context(), small(t, dir, "-max_iters", "2"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "metrics.jsonl")); err != nil || strings.Count(string(data), `{"step":`) != 2 {
		t.Errorf("the metrics: %v\n%s", err, data)
	}
	again := []string{"-checkpoint", filepath.Join(dir, "base"), "-base_data", none, "-out_dir", none}
	refused(t, append(again, "-n_layer", "2"), "is another network", "n_layer", "got 2", "want 1")
	refused(t, append(again, "-base_iters", "2"), "-base_iters: no base is trained", filepath.Join(dir, "base"))
	refused(t, append(again, "-lora_targets", "c_nothing"), "lora_targets")
	refused(t, again, "none: no such file")
}
