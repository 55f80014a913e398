package live

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// TestLimits checks that connections beyond the limit are refused at once, that idle ones are dropped, and that pages
// are served even with the largest number of readers of events.
func TestLimits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := start(l, "127.0.0.1", limits{8, 300 * time.Millisecond}, []string{t.TempDir()})
	defer s.Close()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		must(t, err)
		t.Cleanup(func() { c.Close() })
		must(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		return c
	}
	var idle []net.Conn
	for range 8 {
		idle = append(idle, dial())
	}
	for range 20 {
		// or a reset
		if said, _ := io.ReadAll(dial()); len(said) > 0 && !bytes.HasPrefix(said, []byte("HTTP/1.1 503")) {
			t.Errorf("got %q, want a connection beyond the limit to be refused", said)
		}
	}
	for _, c := range idle {
		if _, err := io.ReadAll(c); err != nil {
			t.Errorf("an idle connection is not dropped: %v", err)
		}
	}
	status := func(path string) int {
		answer, err := http.Get(s.URL + path)
		must(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		if answer.StatusCode != http.StatusOK {
			io.Copy(io.Discard, answer.Body) // so that the connection is reused
		}
		return answer.StatusCode
	}
	for i := range 7 {
		if got := status("events"); got != http.StatusOK {
			t.Errorf("reader %d: got status %d", i, got)
		}
	}
	if got := status("events"); got != http.StatusServiceUnavailable {
		t.Errorf("one reader too many: got status %d, want 503", got)
	}
	got := status("")
	for range 40 { // the server may not have counted the refused connection as closed yet
		if got == http.StatusOK {
			break
		}
		time.Sleep(50 * time.Millisecond)
		got = status("")
	}
	if got != http.StatusOK {
		t.Errorf("the page with all readers connected: got status %d", got)
	}
}

// TestBody checks that a request with a body is refused without waiting for it.
func TestBody(t *testing.T) {
	s := listen(t, t.TempDir())
	c, err := net.Dial("tcp", s.URL[len("http://"):len(s.URL)-1])
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n")
	must(t, err)
	must(t, c.SetReadDeadline(time.Now().Add(8*time.Second)))
	if said, err := io.ReadAll(c); err != nil || !bytes.HasPrefix(said, []byte("HTTP/1.1 400")) {
		t.Errorf("got %q, %v, want status 400 and the end", said, err)
	}
}
