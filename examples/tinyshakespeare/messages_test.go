package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Wrong flags of a run are reported even if out_dir holds another run, which is checked later.
func TestFlagsBeforeTheDirectory(t *testing.T) {
	taken := t.TempDir()
	mustDo(t, small(t, taken, "-tokens", "0")...)
	for want, flags := range map[string][]string{
		"n_head: 3 heads do not divide n_embd 8; set both":                  {"-n_head", "3"},
		"dropout: got 1, want a number, 0 ≤ x < 1":                          {"-dropout", "1"},
		"min_lr: got 0.5, want at most learning_rate 0.001":                 {"-min_lr", "0.5"},
		"precision: got bf16 with kernels false, want float32: the ref":     {"-precision", "bf16", "-kernels=false"},
		"-tokens: got -5, want a whole number, 0 to 268435456":              {"-tokens", "-5"},
		"threads: got 5000, want a whole number, 0 to 4096":                 {"-threads", "5000"},
		"eval_interval: got 0, want a whole number, 1 to 268435456":         {"-eval_interval", "0"},
		"flag -n_layers: not of tinyshakespeare; did you mean -n_layer?":    {"-n_layers", "3"},
		"flag -lr: not of tinyshakespeare; did you mean -learning_rate?":    {"--lr", "3"},
		"out_dir: " + taken + " holds a checkpoint of step 6; -resume cont": nil,
	} {
		if _, _, err := do(t.Context(), small(t, taken, flags...)...); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", flags, err, want)
		}
	}
}

// Senseless numbers are also refused with -sample_only.
func TestSampleOnlyRefuses(t *testing.T) {
	taken := t.TempDir()
	mustDo(t, small(t, taken, "-tokens", "0")...)
	for want, flags := range map[string][]string{
		"-threads: got 1000000000, want a whole number, 0 to 268435456": {"-threads", "1000000000"},
		"threads: got 1000000, want a whole number, 0 to 4096":          {"-threads", "1000000"},
		"-tokens: got -5, want a whole number, 0 to 268435456":          {"-tokens", "-5"},
		"-top_k: got -1, want a whole number, 0 to 268435456":           {"-top_k", "-1"},
		"-memory_limit: got NaN, want a finite number, 0 or more":       {"-memory_limit", "NaN"},
		"beta1: got 2, want a number, 0 ≤ x < 1":                        {"-beta1", "2"},
	} {
		_, _, err := do(t.Context(), append([]string{"-sample_only", "-out_dir", taken}, flags...)...)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", flags, err, want)
		}
	}
}

// Without a checkpoint the error contains the command that creates one.
func TestNoCheckpointSaysWhatToRun(t *testing.T) {
	empty := t.TempDir()
	want := "checkpoint " + empty + ": no checkpoint; go run ./examples/tinyshakespeare -out_dir " + empty +
		" trains a model first"
	for prefix, flag := range map[string]string{"": "-sample_only", "-resume: ": "-resume"} {
		if _, _, err := do(t.Context(), flag, "-out_dir", empty); err == nil || err.Error() != prefix+want {
			t.Errorf("%s: got %v, want %s", flag, err, prefix+want)
		}
	}
}

// A text without a newline, the default beginning of a sample, can be trained on if no sample is requested.
func TestTextWithoutNewline(t *testing.T) {
	line := filepath.Join(t.TempDir(), "line.txt")
	if err := os.WriteFile(line, []byte(strings.Repeat("the wheel goes round ", 30)), 0o644); err != nil {
		t.Fatal(err)
	}
	mustDo(t, small(t, t.TempDir(), "-data", line, "-tokens", "0")...)
	mustDo(t, small(t, t.TempDir(), "-data", line, "-tokens", "0", "-prompt", "")...)
	const want = `-prompt: tokenizer: character '\n' (U+000A) at position 0 is not in the vocabulary`
	_, _, err := do(t.Context(), small(t, t.TempDir(), "-data", line)...)
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("with a sample: got %v, want %s", err, want)
	}
}
