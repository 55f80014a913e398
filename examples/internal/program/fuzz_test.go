package program

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzMetrics checks that a run opens any metrics.jsonl, keeps no line after its step, and opens the kept lines
// unchanged.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte(`{"step":1,"loss":2.5,"lr":0.001,"norm":1}`+"\n"+`{"step":1,"train_loss":2,"val_loss":2.1}`+"\n"), 1)
	f.Add([]byte(`{"step":1,"loss":1}`+"\r\r\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		path := filepath.Join(t.TempDir(), MetricsFile)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		var m *Metrics
		var err error
		fuzzed.Bounded(t, 2*fuzzed.Linear(len(data)), 10*time.Second, func() { // with a buffer of 1 MB
			m, err = OpenMetrics(filepath.Dir(path), step)
		})
		if err != nil {
			t.Fatal(err)
		}
		m.Close()
		kept := read(t, path)
		points := 0
		for name, c := range map[string]*Curve{"loss": &m.Loss, "train": &m.Train, "val": &m.Val} {
			for i := range c.Len() {
				if at, _ := c.XY(i); at > float64(step) {
					t.Fatalf("%s: kept step %v, want none after %d", name, at, step)
				}
			}
			if name != "val" {
				points += c.Len()
			}
		}
		if in := bytes.Count(kept, []byte("\n")); points > in || step <= 0 && in > 0 {
			t.Fatalf("%d points for the plot, %q in the file", points, kept)
		}
		for line := range bytes.Lines(kept) {
			if at, ok := stepOf(line); !ok || at == nil || *at > step {
				t.Fatalf("kept %q, want none after step %d", line, step)
			}
		}
		if Finished(filepath.Dir(path)) {
			t.Fatalf("continued, and yet finished: %q", kept)
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
