package text

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// MaxBytes is the size of the largest text that ReadCorpus accepts, 1 GiB. The text is held in memory, together with
// eight bytes per token while it is encoded. Larger texts belong in Shards.
const MaxBytes = 1 << 30

// ReadCorpus returns the text of the file at path, without a leading byte order mark and with LF for every CRLF; a
// single CR stays. The ending of the name determines the format, which is plain text by default. If path is a
// directory, it returns the texts of all files in it, in the order of their paths, each ended by LF; names that begin
// with a dot are skipped.
//
// A file that is missing, not a regular file, larger than MaxBytes (refused unread), empty, not valid UTF-8 or
// contains a NUL byte is an error that names the path and the reason; offsets count the bytes of the file from 0,
// lines from 1. A pipe, such as a shell's <(…), is refused because it can be read only once: a resumed run reads its
// text again.
func ReadCorpus(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", errors.Wrap(err, "corpus")
	}
	if info.IsDir() {
		return readDirectory(path, MaxBytes)
	}
	return ReadFile(path)
}

// ReadFile is ReadCorpus for a file: a directory is an error.
func ReadFile(path string) (string, error) { return readFile(path, MaxBytes) }

func readFile(path string, limit int64) (string, error) {
	data, err := file.ReadText(path, limit)
	if err != nil {
		return "", errors.Wrap(err, "corpus")
	}
	text, err := formatOf(path).text(string(data))
	if err == nil {
		text, err = clean(text)
	}
	return text, errors.Wrapf(err, "corpus %s", path)
}

// clean checks the bytes of a corpus and normalises them as ReadCorpus describes.
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

// invalidUTF8 returns the offset of the first byte of s that belongs to no character, or −1 if s is valid.
func invalidUTF8(s string) int {
	for at, c := range s {
		_, width := utf8.DecodeRuneInString(s[at:])
		if c == utf8.RuneError && width == 1 { // U+FFFD itself is three bytes wide
			return at
		}
	}
	return -1
}
