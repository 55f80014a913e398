package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A step of many micro-batches is silent for long: the program says within two seconds what it is doing.
func TestSilence(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	w := new(strings.Builder)
	cmd := exec.CommandContext(t.Context(), os.Args[0], small(t, t.TempDir(), "-max_iters", "1", "-dropout", "0",
		"-gradient_accumulation_steps", "40000")...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, w.String())
	}
	var took float64 // milliseconds
	if _, line, ok := strings.Cut(w.String(), "lr 3.3e-04 | "); ok {
		fmt.Sscan(line, &took)
	}
	if took == 0 || took > 2200 && !strings.Contains(w.String(), "tinyshakespeare: step 0/1, 2s\n") {
		t.Errorf("got %s, want a word of the step of %.0f ms before it is done", w, took)
	}
}
