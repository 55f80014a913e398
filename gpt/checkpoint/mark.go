package checkpoint

import (
	"bytes"
	"crypto/rand"
	"io"
	"os"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// markSize is the number of letters in a mark.
const markSize = 26

// markIn returns the random mark in the lock file. It writes a new mark into an empty file, or into one of zeros, which
// a power cut may leave. Any other content belongs to another program, and is an error.
func markIn(lock *os.File) (string, error) {
	text := make([]byte, markSize+1)
	n, err := lock.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return "", errors.Wrap(err, lockName)
	}
	text = text[:n]
	if isMark(string(text)) {
		return string(text), nil
	}
	if n > markSize || len(bytes.Trim(text, "\x00")) > 0 {
		return "", errors.Errorf("%s: got %s, want the %d letters of a mark: "+
			"it is another program's, and is not overwritten", lock.Name(), field.Clip(string(text)), markSize)
	}
	mark := newMark()
	if _, err := lock.WriteAt([]byte(mark), 0); err != nil {
		return "", errors.Wrap(err, lockName)
	}
	return mark, errors.Wrap(lock.Sync(), lockName)
}

func newMark() string { return rand.Text() }

func isMark(s string) bool {
	return len(s) == markSize && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
