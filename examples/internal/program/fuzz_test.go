package program

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
		path := filepath.Join(t.TempDir(), MetricsFile)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := OpenMetrics(filepath.Dir(path), step)
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
		kept := read(t, path)
		for _, s := range m.Steps {
			if s.Step > step {
				t.Fatalf("kept step %d, want none after %d", s.Step, step)
			}
		}
		for _, e := range m.Evals {
			if e.Step > step {
				t.Fatalf("kept the evaluation of step %d, want none after %d", e.Step, step)
			}
		}
		if n, in := len(m.Steps)+len(m.Evals), bytes.Count(kept, []byte("\n")); n > in || step <= 0 && in > 0 {
			t.Fatalf("%d lines for the plot, %q in the file", n, kept)
		}
		for line := range bytes.Lines(kept) {
			if at, ok := stepOf(line); !ok || at == nil || *at > step {
				t.Fatalf("kept %q, want none after step %d", line, step)
			}
		}
		if Finished(filepath.Dir(path)) {
			t.Fatalf("going on, and finished: %q", kept)
		}
		if m, err = OpenMetrics(filepath.Dir(path), step); err != nil {
			t.Fatal(err)
		}
		m.Close()
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
