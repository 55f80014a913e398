package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

const remember = 1 << 10 // bytes at a file's beginning by which a rewritten file is recognized

// tail reads the lines that another process adds to a file.
type tail struct {
	path    string
	longest int // bytes of a line; longer lines are skipped

	at    int64       // the number of bytes that have been read
	was   os.FileInfo // the file at the last reading; nil before it exists
	head  []byte      // the beginning of the file
	long  bool        // the line at the offset at is too long
	opens int         // number of times that the file was opened
}

// more calls line with each complete line written since the last call. If the file was replaced, truncated or
// rewritten, as when a run is resumed, it first calls again and reads from the beginning. It skips lines that are not
// JSON, such as a partial line of a killed process.
func (t *tail) more(again func(), line func(json.RawMessage)) error {
	info, err := os.Stat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case t.was != nil && os.SameFile(t.was, info) && info.Size() == t.at && info.ModTime().Equal(t.was.ModTime()):
		return nil
	}
	f, err := file.Open(t.path)
	if err != nil {
		return err
	}
	defer f.Close()
	t.opens++
	head := make([]byte, remember)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	head = head[:n]
	if t.was != nil && (!os.SameFile(t.was, info) || info.Size() < t.at || !bytes.HasPrefix(head, t.head)) {
		t.at, t.long = 0, false
		again()
	}
	t.was, t.head = info, head
	if _, err := f.Seek(t.at, io.SeekStart); err != nil {
		return err
	}
	return t.lines(bufio.NewReaderSize(f, 1<<16), line)
}

// lines calls line with each line up to the last newline.
func (t *tail) lines(r *bufio.Reader, line func(json.RawMessage)) error {
	var data []byte
	for {
		piece, err := r.ReadSlice('\n')
		data = append(data, piece...)
		switch {
		case err == nil:
			t.at += int64(len(data))
			var compact bytes.Buffer // without a carriage return, which would end a line of an event
			if !t.long && json.Compact(&compact, data) == nil {
				line(compact.Bytes())
			}
			data, t.long = data[:0], false
		case len(data) > t.longest:
			t.at += int64(len(data))
			data, t.long = data[:0], true
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
	}
}
