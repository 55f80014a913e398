package program

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Without a terminal, lines come at intervals and print the remaining time: 3 of 4 steps in 30 s leave 10 s.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	b := NewBar(&out, "training", 0, 4)
	b.Add(1, "loss %d", 9)
	if out.Len() > 0 {
		t.Errorf("got %q at once", out.String())
	}
	b.start, b.last = b.start.Add(-30*time.Second), b.last.Add(-b.pause)
	b.Add(2, "loss %d", 8)
	b.Add(1, "loss %d", 7)
	b.Print("done")
	if got, want := out.String(), "training 3/4 | loss 8 | eta 10s\ndone\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A run prints about fifty lines, however long it is, or one line per given number of steps.
func TestLinesOfARun(t *testing.T) {
	for _, c := range []struct{ begin, total, every, want int }{
		{0, 6, 0, 6}, {0, 50, 0, 50}, {0, 51, 0, 25}, {0, 250, 0, 50}, {0, 2000, 0, 40}, {0, 5000, 0, 50},
		{0, 600_000, 0, 30},
		{1990, 2000, 0, 1}, {0, 0, 0, 0}, {0, 2000, 1, 2000}, {0, 2000, 300, 6}, {290, 2000, 300, 6}, {0, 20, 300, 0},
	} {
		var out bytes.Buffer
		b := NewBar(&out, "", c.begin, c.total).Every(c.every)
		for step := c.begin + 1; step <= c.total; step++ {
			b.Draw(step)
		}
		if got := strings.Count(out.String(), "\nstep ") +
			strings.Count(out.String()[:min(5, out.Len())], "step "); got != c.want {
			t.Errorf("steps %d to %d, interval %d: got %d lines, want %d", c.begin, c.total, c.every, got, c.want)
		}
	}
	var out bytes.Buffer
	b := NewBar(&out, "", 0, 1000).Every(0)
	for range 4 {
		b.Write(make([]byte, 250)) // more than an interval at once
	}
	if got := strings.Count(out.String(), "\n"); got != 4 {
		t.Errorf("got %d lines, want 4:\n%s", got, out.String())
	}
}

// The line fills its width exactly, whatever that is, with complete fields in order.
func TestFit(t *testing.T) {
	fields := []string{
		"1240/2000", "eta 1h12m", "loss 1.905234", "norm 0.52", "lr 9.5e-04", "10.3 ms", "95.2 GFLOP/s", "74,000 tok/s",
	}
	for width := -1; width < 300; width++ {
		line := fit(width, 0.62, fields)
		if got := utf8.RuneCountInString(line); got != max(0, width) {
			t.Errorf("%d columns: got %d, %q", width, got, line)
		}
		if width >= 39 && !strings.Contains(line, "1240/2000 | eta 1h12m | loss 1.905234") {
			t.Errorf("%d columns: got %q", width, line)
		}
	}
	for width, want := range map[int]string{
		5: "1240/", 12: "1240/2000   ", 20: "1240/2000           ", 21: "1240/2000 | eta 1h12m",
		39: "1240/2000 | eta 1h12m | loss 1.905234  ",
		59: "|████   | 1240/2000 | eta 1h12m | loss 1.905234 | norm 0.52",
	} {
		if got := fit(width, 0.62, fields); got != want {
			t.Errorf("%d columns: got %q, want %q", width, got, want)
		}
	}
	if got := fit(80, 1.5, fields); !strings.HasPrefix(got, "|"+strings.Repeat("█", 10)+"| ") {
		t.Errorf("beyond the end: got %q", got)
	}
}

// The remaining time is never more than the time until the end, and is rounded to minutes if it is hours.
func TestETA(t *testing.T) {
	for _, c := range []struct {
		took        time.Duration
		now, total  int
		until       time.Duration
		want        string
		description string
	}{
		{30 * time.Second, 3, 4, 0, "10s", "as fast as before"},
		{time.Hour, 1, 3, 0, "2h0m", "hours"},
		{10 * time.Minute, 1, 8, 0, "1h10m", "hours and minutes"},
		{59 * time.Minute, 1, 2, 0, "59m0s", "minutes"},
		{10 * time.Minute, 1, 8, 90 * time.Second, "1m30s", "an end before"},
		{10 * time.Minute, 1, 8, -time.Second, "0s", "an end that has passed"},
		{time.Minute, 9, 8, 0, "0s", "beyond the total"},
	} {
		b := NewBar(&bytes.Buffer{}, "", 0, c.total)
		b.start, b.now = b.start.Add(-c.took), c.now
		if c.until != 0 {
			b.End = time.Now().Add(c.until)
		}
		if got := b.eta(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.description, got, c.want)
		}
	}
	if got := fmt.Sprint(interval(1), interval(101), interval(1_115_394)); got != "1 5 50000" {
		t.Errorf("intervals: got %s", got)
	}
}

// Without a terminal, a header stays within 80 columns, with complete fields; a longer field has its own line.
func TestHeader(t *testing.T) {
	var out bytes.Buffer
	forty := strings.Repeat("é", 40)
	NewBar(&out, "", 0, 1).Header(forty, forty[:2*37], "a", strings.Repeat("b", 99), "c")
	want := forty + " | " + forty[:2*37] + "\n  a\n  " + strings.Repeat("b", 99) + "\n  c\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
