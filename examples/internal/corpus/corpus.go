// Package corpus finds the text that an example trains on: a file the user
// names, the tinyshakespeare file (downloaded once and kept in the user's cache
// directory), or, where there is no network, a stand-in of the same layout that
// a small grammar generates ([Standin]).
package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// Source is a text and where it comes from.
type Source struct {
	Text  string
	Name  string  // the path of the file, "tinyshakespeare" or "built-in stand-in"
	Floor float64 // code length of the text in nats per character, 0 where unknown
	Note  string  // one line for the user, empty if all went as usual
}

// Open returns the text of the file at path; if path is empty, tinyshakespeare
// from the cache or from the network; and if that cannot be had, the stand-in,
// with the reason in Note. While it downloads it draws a progress bar on
// progress, if that is a terminal. A file that cannot be used and a cancelled
// ctx are errors.
func Open(ctx context.Context, path string, progress io.Writer) (Source, error) {
	if path != "" {
		s, err := text.ReadCorpus(path)
		return Source{Text: s, Name: path}, err
	}
	cache := ""
	if dir, err := os.UserCacheDir(); err == nil { // without a home there is no cache: download every time
		cache = filepath.Join(dir, "pedestrian", "tinyshakespeare.txt")
	}
	return open(ctx, tinyshakespeare(), cache, progress)
}

// open is Open without a path: the cached copy if it is intact, the remote file,
// or the stand-in.
func open(ctx context.Context, r remote, cache string, progress io.Writer) (Source, error) {
	if s, err := text.ReadCorpus(cache); err == nil && checksum(s) == r.sha256 {
		return Source{Text: s, Name: "tinyshakespeare"}, nil
	}
	s, err := r.download(ctx, progress)
	if ctx.Err() != nil {
		return Source{}, errors.WithStack(ctx.Err())
	}
	if err != nil {
		return standin(err), nil
	}
	src := Source{Text: s, Name: "tinyshakespeare"}
	if err := save(cache, s); err != nil {
		src.Note = oneLine("tinyshakespeare was downloaded but not kept (%v)", err)
	}
	return src, nil
}

// standin is the built-in text, and why it is used.
func standin(reason error) Source {
	s, floor := Standin(standinSeed, standinSize)
	return Source{
		Text:  s,
		Name:  "built-in stand-in",
		Floor: floor,
		Note:  oneLine("tinyshakespeare could not be downloaded (%v); using the built-in stand-in", reason),
	}
}

// save writes s to path whole or not at all.
func save(path, s string) error {
	if path == "" {
		return errors.New("no cache directory")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return errors.WithStack(err)
	}
	f, err := os.CreateTemp(dir, ".download-*")
	if err != nil {
		return errors.WithStack(err)
	}
	defer os.Remove(f.Name()) // gone already after a rename
	if _, err := f.WriteString(s); err != nil {
		f.Close()
		return errors.WithStack(err)
	}
	if err := f.Close(); err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(os.Rename(f.Name(), path))
}

// checksum is the SHA-256 of s in hexadecimal.
func checksum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// oneLine formats a message without line breaks.
func oneLine(format string, args ...any) string {
	return strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
}
