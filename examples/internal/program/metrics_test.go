package program

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// The line of a step holds the loads of its experts, if it has any.
func TestLoadsInMetrics(t *testing.T) {
	dir := t.TempDir()
	m, err := OpenMetrics(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{Bar: NewBar(io.Discard, "step", 0, 2), Metrics: m}
	p := train.Progress{Step: 1, Loss: 2, Norm: 3, LR: 4, Took: time.Second, Tokens: 5}
	l.Step(p)
	p.Loads = []train.Load{
		{Mixture: "h.0.mlp", Shares: []float64{2. / 3, 1. / 3, 1}}, {Mixture: "h.1.mlp", Shares: []float64{0, 0}},
	}
	l.Step(p)
	if err := l.Close(); err != nil || l.Trouble != nil {
		t.Fatal(err, l.Trouble)
	}
	begin := `{"step":1,"loss":2,"lr":4,"norm":3,"ms":1000,"tok_per_s":5,"gflops":0,"max_iters":2`
	want := begin + "}\n" + begin + `,"experts":[{"layer":"h.0.mlp","load":[0.6667,0.3333,1],"imbalance":1.5},` +
		`{"layer":"h.1.mlp","load":[0,0],"imbalance":0}]}` + "\n"
	if got := string(read(t, filepath.Join(dir, MetricsFile))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A long line is kept completely, and so are the lines after it.
func TestLongMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsFile)
	long := `{"step":2,"loss":2,"lr":0,"norm":0,"note":"` + strings.Repeat("a", 1<<17) + "\"}\n"
	want := `{"step":1,"loss":3}` + "\n" + long + `{"step":3,"loss":1}` + "\n"
	if err := os.WriteFile(path, []byte(want+`{"step":4,"loss":1}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := OpenMetrics(filepath.Dir(path), 3)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if got := string(read(t, path)); got != want || m.Loss.Len() != 3 {
		t.Errorf("%d steps in %d bytes, want 3 in %d", m.Loss.Len(), len(got), len(want))
	}
}
