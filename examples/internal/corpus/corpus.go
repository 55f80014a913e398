// Package corpus finds the text that an example trains on: a file that the user names, tinyshakespeare (downloaded once
// and kept in the user's cache directory), or, where there is no network, a stand-in of the same layout that a small
// grammar generates ([Standin]).
package corpus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// The Names of texts that are not files.
const (
	downloadName = "tinyshakespeare"
	standinName  = "built-in stand-in"
)

// Source is a text and where it comes from.
type Source struct {
	Text  string
	Name  string  // the path of the file, "tinyshakespeare" or "built-in stand-in"
	Floor float64 // code length of the text in nats per character, 0 if unknown
	Note  string  // one line for the user, empty in the usual case
}

// Open returns the text of the file at path. If path is empty, it returns tinyshakespeare from the cache or the
// network, or else the stand-in. It writes the Note and the progress of a download to stderr. An unusable file is an
// error. If ctx is done, the error is its cause.
func Open(ctx context.Context, path string, stderr io.Writer) (s Source, err error) {
	if path != "" {
		s.Name = path
		s.Text, err = text.ReadCorpus(path)
	} else {
		cache := ""
		if dir, err := os.UserCacheDir(); err == nil { // without a home there is no cache, and each run downloads
			cache = filepath.Join(dir, "pedestrian", "tinyshakespeare.txt")
		}
		s, err = open(ctx, tinyshakespeare(), cache, stderr)
	}
	if s.Note != "" {
		fmt.Fprintln(stderr, s.Note)
	}
	return s, program.Cause(ctx, err)
}

// SHA256 returns the hash of the text in hexadecimal, as its Corpus does.
func (s Source) SHA256() string { return checksum(s.Text) }

// Encode returns the tokens of the text, to train a model on.
func (s Source) Encode(tok text.Tokenizer, blockSize int) (text.Corpus, error) {
	c, err := text.NewCorpus(s.Text, tok, blockSize)
	return c, errors.Wrap(err, s.Name)
}

// open does what Open does without a path: it returns the cached copy if it is intact, the remote file, or the
// stand-in.
func open(ctx context.Context, r remote, cache string, stderr io.Writer) (Source, error) {
	src := Source{Name: downloadName}
	var err error
	if src.Text, err = text.ReadCorpus(cache); err == nil && checksum(src.Text) == r.sha256 {
		return src, nil
	}
	src.Text, err = r.download(ctx, stderr)
	if ctx.Err() != nil {
		return Source{}, errors.WithStack(ctx.Err())
	}
	if err != nil {
		return standin(err), nil
	}
	if err := save(cache, src.Text); err != nil {
		src.Note = oneLine("tinyshakespeare was downloaded but not kept (%v)", err)
	}
	return src, nil
}

// standin returns the built-in text with the reason for its use.
func standin(reason error) Source {
	s, floor := Standin(standinSeed, standinSize)
	return Source{
		Text:  s,
		Name:  standinName,
		Floor: floor,
		Note:  oneLine("tinyshakespeare cannot be downloaded (%v): using the built-in stand-in", cause(reason)),
	}
}

func save(path, s string) error {
	if path == "" {
		return errors.New("no cache directory")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return file.Replace(path, func(w io.Writer) error { _, err := io.WriteString(w, s); return err })
}

// checksum returns the SHA-256 of s in hexadecimal.
func checksum(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// cause returns the innermost error that package net wraps, which tells the user whether there is a network.
func cause(err error) error {
	for {
		var name *net.DNSError
		var dial *net.OpError
		var get *url.Error
		switch {
		case errors.As(err, &name):
			return errors.New(name.Err)
		case errors.As(err, &dial):
			err = dial.Err
		case errors.As(err, &get):
			err = get.Err
		default:
			return err
		}
	}
}

// oneLine formats a message without line breaks.
func oneLine(format string, args ...any) string {
	return strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")
}
