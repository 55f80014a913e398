package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seen is a watch of files, with a clock that the test turns.
type seen struct {
	*watch
	out, complaints watched
	now             time.Time
}

func watchOf(t *testing.T, width int, same bool) *seen {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	stderr := open("stderr")
	stdout := stderr
	if !same {
		stdout = open("stdout")
	}
	w, out, complaints := newWatch("p", stdout, stderr)
	w.width = func() int { return width }
	return &seen{w, out.(watched), complaints.(watched), time.Now()}
}

// silent lets the program be silent for some time, in which the watch looks often, and returns what stderr shows then.
func (s *seen) silent(t *testing.T, d time.Duration) string {
	t.Helper()
	s.now = s.last
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(100 * time.Millisecond) {
		s.look(s.now)
	}
	data, err := os.ReadFile(s.stderr.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// In a log a silent program says within two seconds what it is doing, and then at distances that double; output begins
// a new silence, and a line of it ends what the program has said that it does. Waiting is no silence.
func TestWatchOfALog(t *testing.T) {
	s := watchOf(t, 0, false)
	if got := s.silent(t, time.Second); got != "" {
		t.Errorf("after a second: got %q, want nothing", got)
	}
	Doing(s.complaints, "loading out")
	if got, want := s.silent(t, 2*time.Second), "p: loading out, 2s\n"; got != want {
		t.Errorf("after 2 s: got %q, want %q", got, want)
	}
	if got := s.silent(t, 100*time.Second); strings.Count(got, "\n") != 6 || !strings.HasSuffix(got, ", 1m26s\n") {
		t.Errorf("after 100 s: got %q, want lines at 2, 5, 13, 27, 56 and 86 s", got)
	}
	s.out.Write([]byte("step 1\n"))
	if got := s.silent(t, 2*time.Second); !strings.HasSuffix(got, "p: at work, 2s\n") {
		t.Errorf("after output: got %q, want a new silence of another work", got)
	}
	before := s.silent(t, time.Second)
	resume := Waiting(s.out)
	if got := s.silent(t, 10*time.Second); got != before {
		t.Errorf("while it waits: got %q, want %q", got, before)
	}
	resume()
	resume()
	if got := s.silent(t, 2*time.Second); got == before {
		t.Errorf("after it waited: got %q, want another line", got)
	}
	text := watchOf(t, 0, true) // one file, in which a text is being written
	text.out.Write([]byte("Once upon"))
	if got := text.silent(t, 10*time.Second); got != "Once upon" {
		t.Errorf("in a text: got %q, want only that", got)
	}
}

// On a terminal the status is rewritten every second, disappears before the next output, and moves no text.
func TestWatchOfATerminal(t *testing.T) {
	for written, want := range map[string]string{
		"":                          "at work, 4s",
		"a line\n":                  "a line\nat work, 4s",
		"\r|██| 3/9":                "at work, 4s",
		"Once upon a":               "Once upon a (4s)",
		"23 characters and no room": "23 characters and no room",
	} {
		s := watchOf(t, 30, true)
		s.out.Write([]byte(written))
		if got := screen(s.silent(t, 4*time.Second)); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
		s.out.Write([]byte("\rmore"))
		want := screen(written + "\rmore")
		if strings.Contains(written, "|") { // a bar fills its line itself
			want = "more"
		}
		if got := screen(s.silent(t, 0)); got != want {
			t.Errorf("%q: with more: got %q, want %q", written, got, want)
		}
	}
	s := watchOf(t, 30, true)
	stop := s.run()
	s.silent(t, 3*time.Second)
	stop()
	if got := screen(s.silent(t, 9*time.Second)); got != "" {
		t.Errorf("after the end: got %q, want nothing", got)
	}
}

// screen returns what a terminal shows of some output, without spaces at the ends of lines.
func screen(s string) string {
	var lines []string
	line, at := []rune{}, 0
	for _, c := range s {
		switch c {
		case '\n':
			lines, line, at = append(lines, strings.TrimRight(string(line), " ")), nil, 0
		case '\r':
			at = 0
		case '\b':
			at--
		default:
			if at == len(line) {
				line = append(line, c)
			}
			line[at] = c
			at++
		}
	}
	return strings.Join(append(lines, strings.TrimRight(string(line), " ")), "\n")
}

// Doing and Waiting do nothing for other writers.
func TestNoWatch(t *testing.T) {
	var b bytes.Buffer
	Doing(&b, "loading")
	Waiting(&b)()
	if b.Len() > 0 {
		t.Errorf("got %q, want nothing", b.String())
	}
}

// Every program is observed, so that none is silent for two seconds, except idea, which is made to be copied without
// this package and shows the progress of every step itself.
func TestProgramsAreObserved(t *testing.T) {
	files, err := filepath.Glob("../../*/main.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d programs (%v), want all", len(files), err)
	}
	for _, name := range files {
		if filepath.Base(filepath.Dir(name)) == "idea" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if s := string(data); !strings.Contains(s, "program.Main") && !strings.Contains(s, "program.Observed(") {
			t.Errorf("%s: its main function calls none of program.Main, MainOfRanks, MainOfTerminal and Observed", name)
		}
	}
}
