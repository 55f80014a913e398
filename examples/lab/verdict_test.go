package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/verdict"
)

// A verdict on a part by its name keeps trials that are repeated, and a row of a board is equal when it is asked again.
func TestVerdict(t *testing.T) {
	data, dir := verses(t), t.TempDir()
	tiny := []string{"-data", data, "-quick", "-out_dir", dir}
	said := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(context.Background(), args, &out, os.Stderr)
		return out.String(), err
	}
	out, err := said(append([]string{"-verdict", "norm=layernorm"}, tiny...)...)
	if err != nil || !strings.Contains(out, "Is it right? Yes.") || !strings.Contains(out, "SHA-256 of the ") {
		t.Fatalf("%v: %s", err, out)
	}
	out, err = said("replay", "-replay", dir, "-n", "0", "-trials", "norm=layernorm, 8×1", "-data", data)
	if err != nil || !strings.Contains(out, "equal to the last bit") {
		t.Errorf("replay of text: %v: %s", err, out)
	}
	out, err = said("replay", "-replay", dir, "-n", "1", "-trials", "norm=layernorm, rate", "-data", data)
	if err != nil || !strings.Contains(out, "accuracy") {
		t.Errorf("replay of a task: %v: %s", err, out)
	}
	out, err = said(append([]string{"-verdict", "norm=layernorm", "-json"}, tiny...)...) // trains nothing
	if err != nil || !strings.Contains(out, `"question": "Is it right?"`) {
		t.Errorf("-json: %v: %s", err, out)
	}
	out, err = said(append([]string{"board", "-parts", "layernorm,linformer"}, tiny...)...)
	if err != nil || !strings.Contains(out, "| norm=layernorm | ") ||
		!strings.Contains(out, "- attention=linformer: ") {
		t.Fatalf("%v: %s", err, out)
	}
	again, err := said(append([]string{"board", "-report", "-parts", "layernorm,linformer"}, tiny...)...)
	if err != nil || again != out {
		t.Errorf("-report: %v: %s", err, again)
	}
	board := filepath.Join(dir, "BOARD.md")
	put(t, board, out)
	row, err := verdict.ReadRow(board, "norm=layernorm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := said("-replay", board, "-trials", "norm=layernor", "-data", data); err == nil ||
		!strings.Contains(err.Error(), "did you mean norm=layernorm") {
		t.Errorf("an unknown row: %v", err)
	}
	put(t, board, strings.Replace(out, row.SHA256, strings.Repeat("0", 64), 1)) // an edited row
	_, err = said("-replay", board, "-trials", "norm=layernorm", "-data", data)
	if err == nil || !strings.Contains(err.Error(), "not equal") || !strings.Contains(err.Error(), row.SHA256) {
		t.Errorf("got %v, want the hash of the row, %s", err, row.SHA256)
	}
}

// Every flag has an effect or is refused.
func TestFlagsOfVerdict(t *testing.T) {
	if os.Getenv("NIGHTLY") == "" {
		t.Skip("set NIGHTLY=1 to try them, half a minute; TestEveryFlag of examples/idea tries some daily")
	}
	data := verses(t)
	other := filepath.Join(t.TempDir(), "other.txt")
	put(t, other, strings.Repeat("A text, and another than the first one was.\n", 20))
	flagtest.Program{
		Run:  flagtest.Untimed(run),
		Name: "lab verdict",
		Args: func(dir string) []string {
			return []string{"-verdict", "norm=layernorm", "-data", data, "-quick", "-out_dir", dir}
		},
		Values: map[string]string{"verdict": "norm=layernorm_plain", "data": other, "steps": "3"},
		Unseen: map[string]string{
			"jobs": "the same bits", "out_dir": "the directory in which the test looks",
			"minutes": "of a plan that is not quick", "quick": "without it, the test takes an hour",
			"json": "its costs are times; printed in TestVerdict",
		},
	}.Check(t)
}
