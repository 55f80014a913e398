package main

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/lab"
)

// A law is fitted to all models but the largest, whose losses are compared with the prediction.
func TestScale(t *testing.T) {
	dir := t.TempDir()
	s := measured(
		t, quick(t, "-scale", "8x1,16x1,16x2", "-scale_iters", "3,6,12,24", "-learning_rate", "0.01", "-dir", dir)...,
	)
	table := s.Tables[0]
	if len(table.Rows) != 12 || table.Law == nil || table.Rows[0].Difference != nil || table.Rows[0].Seeds != 1 {
		t.Fatalf("got %+v, want 12 sizes of one seed and a law", table)
	}
	if table.Law.Trouble == "" {
		t.Errorf("two sizes: got a law, want that α cannot be found")
	}
	s = measured(
		t,
		quick(t, "-scale", "8x1,16x1,24x1,16x2", "-scale_iters", "3,6,12,24", "-learning_rate", "0.01", "-dir", dir)...,
	)
	law := s.Tables[0].Law
	if law.Trouble != "" || len(law.Predicted) != 4 || s.Trials != 16 || s.Reused != 12 {
		t.Fatalf("got %+v of %d trials, %d reused", law, s.Trials, s.Reused)
	}
	for _, p := range law.Predicted {
		if !strings.HasPrefix(p.Arm, "24x1,") && !strings.HasPrefix(p.Arm, "16x2,") {
			t.Errorf("predicted %s, want the largest model", p.Arm)
		}
		if p.Inside != (p.Low <= p.Loss && p.Loss <= p.High) || !(p.Low < p.High) || math.Abs(p.Loss-3) > 1.5 {
			t.Errorf("got %+v", p)
		}
	}
	for name, want := range map[string]string{"report.md": "law of scaling", "scaling.png": "PNG"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: got %d bytes, %v, want %s", name, len(data), err, want)
		}
	}
}

// -scale and -widths replace the arms that are compared by default, of which one is impossible with rotary positions.
func TestScaleNeedsNoArms(t *testing.T) {
	for _, flags := range []string{"-scale 8x1,16x1,16x2 -scale_iters 3,6", "-widths 8,16 -rates 1e-3,2e-3"} {
		if _, err := asked(t, append(strings.Fields(flags), "-position", "rope")); err != nil {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

// The bar counts the steps of trials that differ in them, and the mean for those that have not begun.
func TestBarOfUnequalTrials(t *testing.T) {
	p := progress{out: io.Discard, most: 4, reused: 1}
	for _, c := range []struct {
		key         string
		steps, want int
	}{{"a", 2, 6}, {"b", 7, 13}, {"b", 7, 13}, {"c", 3, 12}} {
		p.step(lab.Step{Trial: &lab.Trial{Key: c.key}, Steps: c.steps})
		if got := p.total(); got != c.want {
			t.Errorf("after %s: got %d steps, want %d", c.key, got, c.want)
		}
	}
	p.close()
}
