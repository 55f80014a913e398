package checkpoint

import (
	"crypto/rand"
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"
)

// markSize is the letters of a mark.
const markSize = 26

// markIn returns the random mark that the lock file holds, and gives a new one to a file without.
func markIn(lock *os.File) (string, error) {
	text := make([]byte, markSize)
	n, err := lock.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return "", errors.Wrap(err, lockName)
	}
	if mark := string(text[:n]); isMark(mark) {
		return mark, nil
	}
	mark := newMark()
	if err := lock.Truncate(0); err != nil {
		return "", errors.Wrap(err, lockName)
	}
	if _, err := lock.WriteAt([]byte(mark), 0); err != nil {
		return "", errors.Wrap(err, lockName)
	}
	return mark, errors.Wrap(lock.Sync(), lockName)
}

func newMark() string { return rand.Text() }

func isMark(s string) bool {
	return len(s) == markSize && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
