package live

import (
	"bufio"
	"encoding/json"
	"io"
	"io/fs"
	"os"

	"github.com/pkg/errors"
)

// tail reads what a file of lines gets while another writes it.
type tail struct {
	path string
	at   int64       // how much of it is read
	was  os.FileInfo // the file, nil before it is there
}

// more gives the whole lines that have come since it was asked last. Where the file is another one than it was, or
// shorter, as when a run is resumed, it begins again and says so. Lines that are no JSON are left out: a killed process
// leaves half of one.
func (t *tail) more(again func() error, line func(json.RawMessage) error) error {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if t.was != nil && (!os.SameFile(t.was, info) || info.Size() < t.at) {
		t.at = 0
		if err := again(); err != nil {
			return err
		}
	}
	t.was = info
	if _, err := f.Seek(t.at, io.SeekStart); err != nil {
		return err
	}
	for r := bufio.NewReader(f); ; {
		data, err := r.ReadBytes('\n')
		if err == io.EOF { // the last one is not whole yet
			return nil
		}
		if err != nil {
			return err
		}
		t.at += int64(len(data))
		if json.Valid(data) {
			if err := line(data[:len(data)-1]); err != nil {
				return err
			}
		}
	}
}
