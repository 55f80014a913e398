package program

import (
	"bytes"
	"testing"
	"time"
)

// Where there is no terminal, lines come at intervals and say what is left: 3 of 4 steps in 30 s leave 10 s.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	b := NewBar(&out, "training", 0, 4)
	b.Add(1, "loss %d", 9)
	if out.Len() > 0 {
		t.Errorf("got %q at once", out.String())
	}
	b.start, b.last = b.start.Add(-30*time.Second), b.last.Add(-pause)
	b.Add(2, "loss %d", 8)
	b.Add(1, "loss %d", 7)
	b.Print("done")
	if got, want := out.String(), "3/4 training: loss 8, eta 10s\ndone\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
