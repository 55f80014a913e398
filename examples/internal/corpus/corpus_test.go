package corpus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
)

const content = "First Citizen:\nA text of our own.\n"

// serve answers every request with handler and returns the remote file that should be there.
func serve(t *testing.T, handler http.HandlerFunc) remote {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return remote{
		url: server.URL, size: int64(len(content)), sha256: checksum(content),
		connect: 2 * time.Second, total: 4 * time.Second,
	}
}

func good(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, content) }

func TestDownload(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "new", "folder", "cached.txt")
	requests := 0
	r := serve(t, func(w http.ResponseWriter, q *http.Request) { requests++; good(w, q) })
	for _, c := range []struct {
		what     string
		damage   func()
		requests int // so far
	}{
		{"first", func() {}, 1},
		{"cached", func() {}, 1},
		{"cache damaged", func() { os.WriteFile(cache, []byte("First Citizen:\nA text of our 0wn.\n"), 0o600) }, 2},
		{"cache mended", func() {}, 2},
		{"cache emptied", func() { os.Truncate(cache, 0) }, 3},
	} {
		c.damage()
		src, err := open(t.Context(), r, cache, io.Discard)
		if want := (Source{Text: content, Name: "tinyshakespeare"}); err != nil || src != want {
			t.Errorf("%s: got %+v, %v, want %+v", c.what, src, err, want)
		}
		if requests != c.requests {
			t.Errorf("%s: got %d requests, want %d", c.what, requests, c.requests)
		}
	}
	if files, _ := os.ReadDir(filepath.Dir(cache)); len(files) != 1 {
		t.Errorf("got %v in the cache, want the text alone", files)
	}
}

func TestDownloadFails(t *testing.T) {
	hang := func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() }
	stall := func(w http.ResponseWriter, q *http.Request) {
		io.WriteString(w, content[:9])
		w.(http.Flusher).Flush()
		<-q.Context().Done()
	}
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		reason  string
	}{
		{"wrong checksum", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, strings.Replace(content, "our", "0ur", 1))
		}, "sha256: got "},
		{
			"short", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, content[:9]) },
			"got 9 bytes, want 34",
		},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			io.WriteString(w, content[:9])
		}, "after 9 of 34 bytes: unexpected EOF"},
		{"404", http.NotFound, "status 404 Not Found"},
		{"oversized", func(w http.ResponseWriter, _ *http.Request) {
			for range 1000 {
				io.WriteString(w, content)
			}
		}, "more than the 34 bytes"},
		{"hanging", hang, "no answer within 50ms"},
		{"stalling", stall, "not complete after 150ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, c.handler)
			if c.name == "hanging" || c.name == "stalling" {
				r.connect, r.total = 50*time.Millisecond, 150*time.Millisecond
				if c.name == "stalling" {
					r.connect = 100 * time.Millisecond
				}
			}
			cache := filepath.Join(t.TempDir(), "cached.txt")
			src, err := open(t.Context(), r, cache, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if src.Name != "built-in stand-in" || len(src.Text) < 100_000 || !(src.Floor > 0) {
				t.Errorf("got %q of %d characters, floor %v, want the stand-in", src.Name, len(src.Text), src.Floor)
			}
			if !strings.Contains(src.Note, c.reason) || strings.Contains(src.Note, "\n") {
				t.Errorf("got note %q, want one line with %q", src.Note, c.reason)
			}
			if _, err := os.Stat(cache); err == nil {
				t.Error("something was cached")
			}
		})
	}
}

// TestDownloadNoServer checks the usual case without a network: nothing listens at the address.
func TestDownloadNoServer(t *testing.T) {
	r := serve(t, good)
	r.url = "http://127.0.0.1:1/input.txt"
	src, err := open(t.Context(), r, "", io.Discard)
	if err != nil || src.Name != "built-in stand-in" || !strings.Contains(src.Note, "connect") {
		t.Errorf("got %q, note %q, %v, want the stand-in", src.Name, src.Note, err)
	}
}

func TestOpenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := serve(t, func(_ http.ResponseWriter, q *http.Request) { cancel(); <-q.Context().Done() })
	if _, err := open(ctx, r, "", io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestOpenUncached checks that a cache that cannot be written leads to a note, but not to an error.
func TestOpenUncached(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(file), "taken", "cached.txt")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, cache := range []string{"", filepath.Join(file, "cached.txt"), dir} {
		src, err := open(t.Context(), serve(t, good), cache, io.Discard)
		if err != nil || src.Text != content || !strings.Contains(src.Note, "not kept") {
			t.Errorf("cache %q: got %+v, %v", cache, src, err)
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
		t.Errorf("got %v, want the temporary file removed", left)
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.txt")
	if err := os.WriteFile(path, []byte("\ufeff"+content), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := Open(t.Context(), path, io.Discard)
	if want := (Source{Text: content, Name: path}); err != nil || src != want {
		t.Errorf("got %+v, %v, want %+v", src, err, want)
	}
	missing := path + ".missing"
	if _, err := Open(t.Context(), missing, io.Discard); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want an error that names %s", err, missing)
	}
}
