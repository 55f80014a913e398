package safetensors

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// failing is a file that can be read up to an offset.
type failing struct {
	io.ReaderAt
	from int64
}

var errDisk = errors.New("the disk is gone")

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > f.from {
		return 0, errDisk
	}
	return f.ReaderAt.ReadAt(p, off)
}

// Read errors are returned wherever they occur, and so are errors of the visitor of values.
func TestErrorsOfReading(t *testing.T) {
	header := `{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	file := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
	values := int64(len(file))
	file = append(file, make([]byte, 8)...)
	size := int64(len(file))
	for from, want := range map[int64]string{
		0: "safetensors: the disk is gone", 8: "safetensors: header: the disk is gone",
	} {
		if _, err := Open(failing{bytes.NewReader(file), from}, size); err == nil || err.Error() != want {
			t.Errorf("from byte %d: got error %v, want %s", from, err, want)
		}
	}
	f, err := Open(failing{bytes.NewReader(file), values}, size)
	if err != nil {
		t.Fatal(err)
	}
	visit := func(int, Tensor) error { return nil }
	if err := f.Values(f.Entries[0], visit); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("values: got error %v", err)
	}
	if f, err = Open(bytes.NewReader(file), size); err != nil {
		t.Fatal(err)
	}
	if err := f.Values(f.Entries[0], func(int, Tensor) error { return errDisk }); !errors.Is(err, errDisk) {
		t.Errorf("visitor: got error %v", err)
	}
}

// ending returns io.EOF together with the last bytes, as an io.ReaderAt may.
type ending struct{ *bytes.Reader }

func (e ending) ReadAt(p []byte, off int64) (int, error) {
	n, err := e.Reader.ReadAt(p, off)
	if off+int64(n) == e.Size() {
		err = io.EOF
	}
	return n, err
}

// A file may end with its header or with the numbers of a tensor, which are visited in parts that are not empty.
func TestEnd(t *testing.T) {
	long := Tensor{Name: "long", Shape: []int{chunk}, F32: make([]float32, chunk)}
	for want, list := range map[int][]Tensor{0: {sample()[3]}, chunk: {sample()[3], long}} {
		data, got := encode(t, list, nil), 0
		f, err := Open(ending{bytes.NewReader(data)}, int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range f.Entries {
			if err := f.Values(e, func(at int, part Tensor) error {
				if got += len(part.F32); len(part.F32) == 0 {
					t.Errorf("%s: got no numbers at %d", e.Name, at)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if got != want {
			t.Errorf("got %d numbers, want %d", got, want)
		}
	}
}

// A nil reader, writer or function is an error.
func TestNothingToReadOrWrite(t *testing.T) {
	data := encode(t, sample(), nil)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	visit := func(int, Tensor) error { return nil }
	_, negative := Open(bytes.NewReader(data), -1)
	_, nothing := Open(nil, 8)
	_, short := Open(bytes.NewReader(data[:3]), 3)
	other := f.Entries[0]
	other.DType = "F8"
	for what, err := range map[string]error{
		"got -1 bytes, want at least 8": negative, "the reader is nil": nothing, "got 3 bytes, want": short,
		"the writer is nil":                     Write(nil, nil, nil),
		`tensor "": want an entry`:              f.Values(Entry{}, visit),
		"of a file of Open":                     (*File)(nil).Values(f.Entries[0], visit),
		`"ln_f.<bias> é \"\\\n": want an entry`: f.Values(other, visit),
		"want an entry of a file":               new(File).Values(Entry{Name: "x", DType: F32}, visit),
		"a function to visit its values":        f.Values(f.Entries[0], nil),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got error %v, want %q", err, what)
		}
	}
}
