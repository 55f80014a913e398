package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// guest is a reader of a board with the text that it has received.
type guest struct {
	place
	text   bytes.Buffer
	chunks []*byte
}

func (g *guest) drain(b *board) {
	for {
		chunk, _, _ := b.next(&g.place)
		if chunk == nil {
			return
		}
		g.text.Write(chunk)
		g.chunks = append(g.chunks, &chunk[0])
	}
}

// steps returns the steps of the lines in the text, since it last began again.
func (g *guest) steps() (list []int) {
	_, text, _ := cutLast(g.text.String(), program.MetricsFile)
	for line := range strings.Lines(text) {
		var e struct{ Line struct{ Step int } }
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, `"loss"`) &&
			json.Unmarshal([]byte(data), &e) == nil {
			list = append(list, e.Line.Step)
		}
	}
	return list
}

func cutLast(s, at string) (before, after string, found bool) {
	if i := strings.LastIndex(s, at); i >= 0 {
		return s[:i], s[i+len(at):], true
	}
	return s, "", false
}

// TestWorkDoesNotGrowWithReaders compares no reader, one and 200: the same number of files is opened, each line is
// parsed once, and all readers are sent the same bytes in memory.
func TestWorkDoesNotGrowWithReaders(t *testing.T) {
	const ticks = 20
	for _, readers := range []int{0, 1, 200} {
		dir := t.TempDir()
		f, guests := newFeed([]string{dir}), make([]guest, readers)
		for n := range ticks {
			add(t, filepath.Join(dir, program.MetricsFile), step(2*n, 3)+step(2*n+1, 4))
			f.read()
			for i := range guests {
				guests[i].drain(&f.board)
			}
			f.read() // finds nothing, and opens no file
		}
		if h := f.runs[0]; h.lines != 2*ticks || h.metrics.opens != ticks || h.looks.opens != 0 {
			t.Errorf("%d readers: %d lines were parsed, and files opened %d and %d times, want %d, %d and 0", readers,
				h.lines, h.metrics.opens, h.looks.opens, 2*ticks, ticks)
		}
		for i := range guests {
			if got, want := fmt.Sprint(guests[i].chunks), fmt.Sprint(guests[0].chunks); got != want ||
				len(guests[i].chunks) != ticks+1 {
				t.Fatalf("reader %d was sent other bytes in memory than reader 0", i)
			}
		}
	}
}

// TestLongRun checks that the memory of a long run is limited, that its extremes are kept, that a reader that keeps up
// receives every line once, and that others receive the remaining lines.
func TestLongRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, program.MetricsFile)
	f := newFeed([]string{dir})
	var keepsUp, slow guest
	const most, steps, each, spike, dip = 200, 4000, 20, 1234, 2345
	f.runs[0].steps.most = most
	for from := 0; from < steps; from += each {
		var lines strings.Builder
		for n := from; n < from+each; n++ {
			loss := 2 + float64(n%7)/10
			switch n {
			case spike:
				loss = 99
			case dip:
				loss = 0.5
			}
			lines.WriteString(step(n, loss))
		}
		add(t, path, lines.String())
		f.read()
		if keepsUp.drain(&f.board); from == 100 {
			slow.drain(&f.board)
		}
		if h := f.runs[0]; len(h.steps.lines) > most+each {
			t.Fatalf("got %d kept lines after %d steps", len(h.steps.lines), from+each)
		}
		size := 0
		for _, c := range f.chunks {
			size += len(c)
		}
		if most := 200 * (most + each); size > most {
			t.Fatalf("got %d bytes to send after %d steps, want at most %d", size, from+each, most)
		}
	}
	if got := keepsUp.steps(); len(got) != steps {
		t.Errorf("a reader that keeps up got %d lines, want %d", len(got), steps)
	}
	var late guest
	late.drain(&f.board)
	slow.drain(&f.board)
	for name, g := range map[string]*guest{"late": &late, "slow": &slow} {
		has := map[int]bool{}
		for _, n := range g.steps() {
			has[n] = true
		}
		if len(has) < most/4 || len(has) > most+each || !has[spike] || !has[dip] || !has[0] || !has[steps-1] {
			t.Errorf("%s: got %d steps; first %v, last %v, greatest %v, smallest %v, want all of these", name, len(has),
				has[0], has[steps-1], has[spike], has[dip])
		}
	}
	other := newFeed([]string{dir}) // begins with the long file
	other.runs[0].steps.most = most
	other.read()
	var g guest
	if g.drain(&other.board); len(g.steps()) > 2*most {
		t.Errorf("a reader of a run that was long before is sent %d lines, want at most %d", len(g.steps()), 2*most)
	}
}

// TestFastRun checks that the extremes and the last one of many lines between two readings are sent.
func TestFastRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, program.MetricsFile)
	f := newFeed([]string{dir})
	var g guest
	add(t, path, step(0, 4))
	f.read()
	g.drain(&f.board)
	var lines strings.Builder
	for n := 1; n < 1000; n++ {
		lines.WriteString(step(n, map[bool]float64{true: 99, false: 3}[n == 555]))
	}
	add(t, path, lines.String())
	f.read()
	g.drain(&f.board)
	if got := g.steps(); len(got) > mostNews+1 || len(got) < mostNews/4 || !slices.Contains(got, 555) ||
		got[len(got)-1] != 999 {
		t.Errorf("got steps %v, want at most %d, among them 555 and 999", got, mostNews+1)
	}
}

// TestManyLooks checks that the bytes of looks are limited, and that the first and the last look are kept.
func TestManyLooks(t *testing.T) {
	s := series{most: 1000, bytes: 1000}
	for n := range 500 {
		if s.add(bytes.Repeat([]byte("x"), 30), float64(n)); s.full() {
			s.thin()
		}
	}
	if first, last := s.lines[0].value, s.lines[len(s.lines)-1].value; s.size > 1000 || s.size != 30*len(s.lines) ||
		first != 0 || last != 499 {
		t.Errorf("got %d bytes in %d lines from %v to %v", s.size, len(s.lines), first, last)
	}
}
