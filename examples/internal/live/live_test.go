package live

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// add appends text to a file.
func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func step(n int, loss float64) string {
	data, _ := json.Marshal(program.StepLine{Step: n, Loss: loss, LR: 0.001, Norm: 1, TokPerS: 1000})
	return string(data) + "\n"
}

func listen(t *testing.T, dirs ...string) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", dirs...)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// reader reads the events of a server.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
}

func read(t *testing.T, s *Server) reader {
	t.Helper()
	answer, err := http.Get(s.URL + "events")
	must(t, err)
	t.Cleanup(func() { answer.Body.Close() })
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("got %q", got)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	return reader{t, lines}
}

func (r reader) want(list ...string) {
	r.t.Helper()
	for _, want := range list {
		for r.lines.Scan() && r.lines.Text() == "" {
		}
		if got := r.lines.Text(); !strings.HasPrefix(got, want) {
			r.t.Fatalf("got %.200q, want %q at its beginning", got, want)
		}
	}
}

// forgets expects the first message to every reader: the files of n runs begin.
func (r reader) forgets(n int) {
	r.t.Helper()
	for i := range n {
		r.want(string(bytes.TrimSpace(again(i, program.MetricsFile))), string(bytes.TrimSpace(again(i, LooksFile))))
	}
}

// New lines are sent in order, complete lines only, for every run; a file that begins again and the end are announced.
func TestEvents(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	path := filepath.Join(a, program.MetricsFile)
	add(t, path, step(1, 4)+"half\n"+step(2, 3)+`{"step":3,`)
	s := listen(t, a, b)
	r := read(t, s)
	r.forgets(2)
	r.want(`data: {"run":0,"line":{"step":1,"loss":4,`, `data: {"run":0,"line":{"step":2,"loss":3,`)
	add(t, path, `"loss":2}`+"\n")
	r.want(`data: {"run":0,"line":{"step":3,"loss":2}}`)
	add(t, filepath.Join(b, program.MetricsFile), step(1, 5)) // a file that did not exist before
	r.want(`data: {"run":1,"line":{"step":1,"loss":5,`)
	look := Look{
		Step: 0, Sample: "<b>", Tokens: []string{"a"}, Layers: []page.Layer{{Name: "h.0", Heads: [][][]float64{{{1}}}}},
	}
	must(t, look.Add(b))
	r.want(
		`data: {"run":1,"line":{"step":0,"sample":"\u003cb\u003e","tokens":["a"],"layers":[{"Name":"h.0","Heads":[[[1]]]}]}}`,
	)
	must(t, file.Replace(path, func(w io.Writer) error {
		_, err := io.WriteString(w, step(1, 9)+strings.Repeat(step(2, 8), 9))
		return err
	}))
	r.want(`data: {"run":0,"again":"metrics.jsonl"}`, `data: {"run":0,"line":{"step":1,"loss":9,`)
	add(t, path, `{"val_loss_full":1}`+"\n")
	go s.Close()
	for range 9 {
		r.want(`data: {"run":0,"line":{"step":2,"loss":8,`)
	}
	r.want(`data: {"run":0,"line":{"val_loss_full":1}}`, "event: end")
}

// A client that never reads and one that disconnects delay no one: others receive everything, and the server ends.
func TestSlowReaders(t *testing.T) {
	dir, lines := t.TempDir(), 200
	// 13 MB
	add(
		t, filepath.Join(dir, program.MetricsFile),
		strings.Repeat(`{"step":1,"sample":"`+strings.Repeat("x", 1<<16)+"\"}\n", lines),
	)
	s := listen(t, dir)
	var never []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/"))
		must(t, err)
		defer c.Close()
		must(t, c.(*net.TCPConn).SetReadBuffer(4096))
		_, err = fmt.Fprintf(c, "GET /events HTTP/1.1\r\nHost: localhost:1\r\n\r\n")
		must(t, err)
		never = append(never, c)
	}
	gone := read(t, s)
	gone.forgets(1)
	gone.want(`data: {"run":0,`)
	never[2].Close()
	r := read(t, s)
	r.forgets(1)
	for range lines {
		r.want(`data: {"run":0,"line":{"step":1,"sample":"xxx`)
	}
	must(t, s.Close())
	r.want("event: end")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.server.Shutdown(ended); err != nil {
		t.Errorf("clients that never read are still served: %v", err)
	}
}

// Listen serves only this machine by default, and an invalid address is a clear error.
func TestListen(t *testing.T) {
	s, err := Listen(":0", t.TempDir())
	must(t, err)
	defer s.Close()
	if !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		t.Errorf("got %s, want loopback", s.URL)
	}
	port := strings.TrimSuffix(s.URL[strings.LastIndexByte(s.URL, ':')+1:], "/")
	for address, want := range map[string]string{
		":" + port: "-serve: listen tcp 127.0.0.1:" + port, ":x": "-serve: listen tcp",
		"8080": `-serve: got "8080", want a port such as :8080`,
	} {
		if _, err := Listen(address, "out"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", address, err, want)
		}
	}
	for host, want := range map[string]int{
		"localhost:" + port: 200, "127.0.0.1:" + port: 200, "[::1]:1": 200, "localhost": 200,
		"elsewhere.org:" + port: 403, "x": 403,
	} {
		r, err := http.NewRequest("GET", s.URL, nil)
		must(t, err)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		kind := answer.Header.Get("Content-Type")
		if answer.StatusCode != want || want == 200 && kind != "text/html; charset=utf-8" {
			t.Errorf("host %q: got status %d and %q, want %d", host, answer.StatusCode, kind, want)
		}
	}
}

// A finished run is in the page; a directory without one is an error that names it.
func TestFinished(t *testing.T) {
	a, none := t.TempDir(), t.TempDir()
	add(t, filepath.Join(a, program.MetricsFile), step(1, 4)+`{"val_loss_full":1}`+"\n"+`{"st`)
	must(t, Look{Step: 0, Sample: "old"}.Add(a))
	must(t, Look{Step: 0, Sample: "a"}.Add(a))
	must(t, Look{Step: 5, Sample: "b"}.Add(a))
	p, err := Finished(a)
	must(t, err)
	got, err := json.Marshal(p.Runs[0].Lines)
	must(t, err)
	if want := "[" + strings.TrimSpace(step(1, 4)) +
		`,{"val_loss_full":1},{"step":0,"sample":"a"},{"step":5,"sample":"b"}]`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	add(t, filepath.Join(a, LooksFile), `{"step":6,"sample":"</script><b>"}`+"\n")
	p, err = Finished(a)
	must(t, err)
	var html strings.Builder
	must(t, p.Write(&html))
	if n := strings.Count(html.String(), "</script>"); n != 2 {
		t.Errorf("a sample ends the script: got %d ends, want 2", n)
	}
	file := filepath.Join(a, LooksFile)
	for dir, want := range map[string]string{none: none + ": no run", file: filepath.Join(file, program.MetricsFile)} {
		if _, err := Finished(a, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	nan := Look{Layers: []page.Layer{{Heads: [][][]float64{{{math.NaN()}}}}}}
	for want, err := range map[string]error{
		"looks.jsonl: json": nan.Add(a), "none": Look{}.Add(filepath.Join(none, "none")),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

// The page of a long finished run contains a limited number of lines.
func TestFinishedLong(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for n := range 2*mostLines + 10 {
		fmt.Fprintf(&lines, `{"step":%d,"loss":1}`+"\n", n)
	}
	add(t, filepath.Join(dir, program.MetricsFile), lines.String())
	p, err := Finished(dir)
	must(t, err)
	if n := len(p.Runs[0].Lines); n < mostLines/4 || n > mostLines {
		t.Errorf("got %d lines, want at most %d", n, mostLines)
	}
}

// A title names runs and their directories.
func TestTitle(t *testing.T) {
	for want, dirs := range map[string][]string{
		"Training run in out/": {"out/"}, "Training runs in a/ and b/": {"a", "b"},
		"Training runs in a/, b/ and c/": {"a", "b", "c"},
	} {
		if got := title(dirs); got != want {
			t.Errorf("%q: got %q, want %q", dirs, got, want)
		}
	}
}
