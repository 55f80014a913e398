package corpus

import (
	"bytes"
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// saved returns a checkpoint of a run on a text with that hash, and with a stamp unless s is nil.
func saved(t *testing.T, sha256 string, s *Source) *checkpoint.Checkpoint {
	t.Helper()
	dir, err := checkpoint.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	files := []checkpoint.File{
		{Name: train.StateFile, Write: train.WriteJSON(map[string]string{"corpus_sha256": sha256})},
	}
	if s != nil {
		files = append(files, s.Stamp(text.Dataset{Sum: sha256}))
	}
	if err := dir.Save(1, files); err != nil {
		t.Fatal(err)
	}
	cp, err := dir.Load()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}

// A checkpoint stores the path and the hash of its text; an older one stores only the hash.
func TestTextOfACheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.txt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := checksum(content)
	for _, c := range []struct {
		name, sha256, at string
	}{
		{path, sum, path}, {standinName, sum, ""},
		{downloadName, tinyshakespeare().sha256, ""},
		{downloadName, sum, downloadName},
	} {
		cp := saved(t, c.sha256, &Source{Name: c.name})
		if got := At(cp); got != c.at {
			t.Errorf("%s: at %q, want %q", c.name, got, c.at)
		}
	}
	cp := saved(t, sum, &Source{Name: path})
	var said bytes.Buffer
	s, err := Of(t.Context(), cp, &said)
	if err != nil || s.Text != content || Same(s.Name, s.SHA256(), cp) != nil || said.Len() > 0 {
		t.Errorf("got %+v, %v, said %q", s, err, said.String())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Of(t.Context(), cp, &said); err == nil || !strings.Contains(err.Error(), "the run is on") ||
		!strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing text: got %v", err)
	}
	old := saved(t, sum, nil)
	if At(old) != "" || Same("x", sum, old) != nil {
		t.Error("an older checkpoint refuses its own text")
	}
	for cp, want := range map[*checkpoint.Checkpoint]string{
		cp: `another text: the run is on "` + path +
			`" (sha256 ` + sum[:8], old: `the run is on "a text that the checkpoint does not name"`,
	} {
		if err := Same("new.txt", checksum("new"), cp); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `this is "new.txt" (sha256 `+checksum("new")[:8]) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if Same("any", "thing", nil) != nil {
		t.Error("a new run has an earlier text")
	}
}

// Without a network the note is one line that fits a terminal.
func TestNoNetwork(t *testing.T) {
	lookup := &net.DNSError{Err: "no such host", Name: "raw.githubusercontent.com", Server: "10.0.0.1:53"}
	for want, err := range map[string]error{
		"no such host": errors.WithStack(
			&url.Error{Op: "Get", URL: tinyshakespeare().url, Err: &net.OpError{Op: "dial", Net: "tcp", Err: lookup}},
		),
		"connect: connection refused": &url.Error{Op: "Get", URL: tinyshakespeare().url,
			Err: &net.OpError{
				Op: "proxyconnect", Net: "tcp",
				Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connect: connection refused")},
			}},
		"no answer within 5s":    errors.New("no answer within 5s"),
		context.Canceled.Error(): context.Canceled,
	} {
		line := "tinyshakespeare cannot be downloaded (" + want + "): using the built-in stand-in"
		if got := standin(err).Note; got != line || len(got) > 100 {
			t.Errorf("got %q, want %q", got, line)
		}
	}
}
