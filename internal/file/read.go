package file

import (
	"bytes"
	"io"
	"os"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, size, err := openLimited(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return content(f, path, size, limit)
}

// ReadText is Read for a text, which must not contain a NUL byte; the error gives its offset. ReadText searches the
// file for one before it allocates memory for its size, because a file may claim any size and hold nothing.
func ReadText(path string, limit int64) ([]byte, error) {
	f, size, err := openLimited(path, limit)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := checkText(f); err != nil {
		return nil, errors.Wrap(err, path)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return content(f, path, size, limit)
}

// openLimited opens a regular file of at most limit bytes.
func openLimited(path string, limit int64) (*os.File, int64, error) {
	f, err := Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = errors.Errorf("%s: got %d bytes, want at most %d", path, info.Size(), limit)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// content reads a file whose size was size when it was opened; it may have grown since.
func content(f io.Reader, path string, size, limit int64) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(size) + bytes.MinRead) // ReadFrom needs MinRead bytes to detect the end
	if n, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	} else if n > limit {
		return nil, errors.Errorf("%s: got more than %d bytes, want at most that", path, limit)
	}
	return b.Bytes(), nil
}

// checkText returns an error if f contains a NUL byte.
func checkText(f io.Reader) error {
	buffer, line := make([]byte, 1<<16), 1
	for at := 0; ; {
		n, err := f.Read(buffer)
		if i := bytes.IndexByte(buffer[:n], 0); i >= 0 {
			if bad := invalidUTF8(buffer[:i]); at == 0 && bad >= 0 { // UTF-16, perhaps
				return errors.Errorf("not valid UTF-8: byte 0x%02x at offset %d, line %d", buffer[bad], bad,
					line+bytes.Count(buffer[:bad], []byte("\n")))
			}
			return errors.Errorf("NUL byte at offset %d, line %d", at+i, line+bytes.Count(buffer[:i], []byte("\n")))
		}
		at, line = at+n, line+bytes.Count(buffer[:n], []byte("\n"))
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// invalidUTF8 returns the offset of the first byte that belongs to no character, or −1 if the text is valid.
func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		c, width := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && width == 1 {
			return at
		}
		at += width
	}
	return -1
}
