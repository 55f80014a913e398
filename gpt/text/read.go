package text

import (
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// MaxBytes is the size of the largest text that ReadCorpus takes, 1 GiB: it is held in memory, and while it is encoded
// eight bytes a token beside it. What is larger belongs in Shards.
const MaxBytes = 1 << 30

// ReadCorpus returns the text of the file at path, in the format that its name ends in or else plain, without a leading
// byte order mark and with LF for every CRLF; a CR alone stays. Of a directory it is the texts of all files in it, in
// the order of their paths, each ended by LF; names that begin with a dot are passed over.
//
// A file that is missing, not a regular file (a FIFO or a device, which are refused unopened, for opening one may
// block), larger than MaxBytes (refused unread), empty, not valid UTF-8 or with a NUL byte is an error that names the
// path and the reason; offsets count the bytes of the file from 0, lines from 1.
func ReadCorpus(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", errors.Wrap(err, "corpus")
	}
	if info.IsDir() {
		return readDirectory(path, MaxBytes)
	}
	return readFile(path, MaxBytes)
}

func readFile(path string, limit int64) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", errors.Wrap(err, "corpus")
	}
	if err := usable(info, limit); err != nil {
		return "", errors.Wrapf(err, "corpus %s", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Wrap(err, "corpus")
	}
	defer f.Close()
	var s strings.Builder
	s.Grow(int(info.Size()))
	n, err := io.Copy(&s, io.LimitReader(f, limit+1)) // it may grow while it is read
	if err != nil {
		return "", errors.Wrap(err, "corpus")
	}
	if n > limit {
		return "", errors.Errorf("corpus %s: more than the %d bytes allowed", path, limit)
	}
	text, err := formatOf(path).text(s.String())
	if err == nil {
		text, err = clean(text)
	}
	return text, errors.Wrapf(err, "corpus %s", path)
}

// usable refuses what is not a regular file of at most limit bytes.
func usable(info fs.FileInfo, limit int64) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return errors.New("is a directory, want a file")
	case !mode.IsRegular():
		return errors.Errorf("is not a regular file (%s)", mode)
	case info.Size() > limit:
		return errors.Errorf("has %d bytes, more than the %d allowed", info.Size(), limit)
	}
	return nil
}

// clean checks the bytes of a corpus and normalises them as ReadCorpus says.
func clean(s string) (string, error) {
	if at := invalidUTF8(s); at >= 0 {
		line := 1 + strings.Count(s[:at], "\n")
		return "", errors.Errorf("not valid UTF-8: byte 0x%02x at offset %d, line %d", s[at], at, line)
	}
	if at := strings.IndexByte(s, 0); at >= 0 {
		return "", errors.Errorf("NUL byte at offset %d, line %d", at, 1+strings.Count(s[:at], "\n"))
	}
	s = strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
	if s == "" {
		return "", errors.New("is empty")
	}
	return s, nil
}

// invalidUTF8 is the offset of the first byte of s that belongs to no character, −1 where s is valid.
func invalidUTF8(s string) int {
	for at, c := range s {
		_, width := utf8.DecodeRuneInString(s[at:])
		if c == utf8.RuneError && width == 1 { // U+FFFD itself is three bytes wide
			return at
		}
	}
	return -1
}
