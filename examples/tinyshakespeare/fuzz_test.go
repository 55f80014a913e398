package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzMetrics: whatever metrics.jsonl holds, a run opens it, keeps no line after its step, and opens what it kept to the
// same lines again.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte(`{"step":1,"loss":2.5,"lr":0.001,"norm":1}`+"\n"+`{"step":1,"train_loss":2,"val_loss":2.1}`+"\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		path := filepath.Join(t.TempDir(), "metrics.jsonl")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := openMetrics(path, step)
		if err != nil {
			t.Fatal(err)
		}
		m.file.Close()
		kept := read(t, path)
		for _, s := range m.steps {
			if s.Step > step {
				t.Fatalf("kept step %d, want none after %d", s.Step, step)
			}
		}
		for _, e := range m.evals {
			if e.Step > step {
				t.Fatalf("kept the evaluation of step %d, want none after %d", e.Step, step)
			}
		}
		if n := len(m.steps) + len(m.evals); n != bytes.Count(kept, []byte("\n")) || step <= 0 && n > 0 {
			t.Fatalf("%d lines for the plot, %q in the file", n, kept)
		}
		if m, err = openMetrics(path, step); err != nil {
			t.Fatal(err)
		}
		m.file.Close()
		if again := read(t, path); !bytes.Equal(again, kept) {
			t.Fatalf("opened twice: got %q, want %q", again, kept)
		}
	})
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
