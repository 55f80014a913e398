package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/live"
)

// A watched run ends with the same bits as another, even if one client never reads and another disconnects; a client
// that stays receives everything to the end.
func TestServe(t *testing.T) {
	alone, watched := t.TempDir(), t.TempDir()
	mustDo(t, small(t, alone)...)
	args := small(t, watched, "-serve", ":0", "-prompt", "The")
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(t.Context(), args, in, io.Discard)
		in.Close()
		done <- err
	}()
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		url, _ = strings.CutPrefix(lines.Text(), "watch it at ")
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			url = ""
		}
	}
	if url == "" {
		t.Fatalf("it does not say where to watch: %v", <-done)
	}
	never, err := net.Dial("tcp", strings.Trim(url, "htp:/"))
	if err != nil {
		t.Fatal(err)
	}
	defer never.Close()
	fmt.Fprint(never, "GET /events HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
	gone, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	gone.Body.Close()
	stays, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Body.Close()
	page, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	if html, err := io.ReadAll(page.Body); err != nil ||
		!bytes.Contains(html, []byte("<title>Training run in "+watched+"/</title>")) {
		t.Errorf("the page: %v\n%.300s", err, html)
	}
	go io.Copy(io.Discard, out)
	events, err := io.ReadAll(stays.Body)
	if err != nil {
		t.Error(err)
	}
	for what, want := range map[string]int{
		`"loss":`: 6, `"val_loss":`: 4, `"sample":"The`: 4, `"val_loss_full":`: 1, "event: end\n": 1,
	} {
		if got := bytes.Count(events, []byte(what)); got != want {
			t.Errorf("got %d × %s, want %d, in\n%.3000s", got, what, want, events)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	sameRun(t, watched, alone)
	data, err := os.ReadFile(filepath.Join(watched, live.LooksFile))
	if err != nil {
		t.Fatal(err)
	}
	step := 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		var l live.Look
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Step != step || len(l.Tokens) != 8 ||
			len(l.Layers) != 1 ||
			len(l.Layers[0].Heads) != 2 || len(l.Layers[0].Heads[1]) != 8 {
			t.Errorf("got %s (%v)", line, err)
		}
		step += 2
	}
	if _, err := os.Stat(filepath.Join(alone, live.LooksFile)); err == nil {
		t.Error("a run that is not watched wrote what there is to watch")
	}
}

// A port in use ends the program before it creates anything, and is named.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "none")
	for want, args := range map[string][]string{
		"-serve: listen tcp " + l.Addr().String(): {"-serve", l.Addr().String()},
		`-serve: got "80", want a port such as`:   {"-serve", "80"},
		"-serve: it shows a training":             {"-serve", ":0", "-sample_only"},
	} {
		if _, _, err := do(t.Context(), small(t, dir, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", args, err, want)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("it made %s", dir)
	}
}
