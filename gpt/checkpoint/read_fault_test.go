package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var errFault = errors.New("fault")

// faultyFS is a file system until operation number at, which fails. It counts the open files.
type faultyFS struct {
	fs.FS
	at     int // counts down
	open   int
	close  error // of every file
	narrow bool  // files can only be read from their beginning
}

func (d *faultyFS) fault() error {
	if d.at--; d.at == -1 {
		return errFault
	}
	return nil
}

func (d *faultyFS) Open(name string) (fs.File, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	d.open++
	if d.narrow {
		return struct{ fs.File }{faultyReader{f, d}}, nil
	}
	return faultyReader{f, d}, nil
}

func (d *faultyFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	return fs.ReadDir(d.FS, name)
}

func (d *faultyFS) Stat(name string) (fs.FileInfo, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	return fs.Stat(d.FS, name)
}

func (d *faultyFS) Lstat(name string) (fs.FileInfo, error) { return d.Stat(name) }

func (d *faultyFS) ReadLink(name string) (string, error) { return "", errFault }

type faultyReader struct {
	fs.File
	disk *faultyFS
}

func (f faultyReader) Read(p []byte) (int, error) {
	if err := f.disk.fault(); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f faultyReader) ReadAt(p []byte, at int64) (int, error) {
	if err := f.disk.fault(); err != nil {
		return 0, err
	}
	return f.File.(io.ReaderAt).ReadAt(p, at)
}

func (f faultyReader) Close() error {
	f.disk.open--
	return errors.Join(f.File.Close(), f.disk.close)
}

// If any operation of loading a checkpoint fails, it is not loaded, the error contains the reason, and no file stays
// open.
func TestReadFaultAtEveryOp(t *testing.T) {
	dir := inMemory(t, text("a", "of a"), text("b", "of b"))
	for _, only := range []string{"", stepName(7)} {
		count := &faultyFS{FS: dir, at: never}
		c, err := load(count, "", only, nil)
		if err != nil || count.open != 2 {
			t.Fatalf("got %v, %d open files, want 2", err, count.open)
		}
		if err := c.Close(); err != nil || count.open != 0 {
			t.Errorf("closed: got %v, %d open files", err, count.open)
		}
		ops := never - count.at
		if ops < 10 {
			t.Errorf("got %d operations, want at least 10", ops)
		}
		for at := range ops {
			disk := &faultyFS{FS: dir, at: at}
			if _, err := load(disk, "", only, nil); err == nil || !strings.Contains(err.Error(), errFault.Error()) {
				t.Errorf("operation %d: got %v, want %v", at, err, errFault)
			}
			if disk.open != 0 {
				t.Errorf("operation %d: %d files stay open", at, disk.open)
			}
		}
	}
	narrow := &faultyFS{FS: dir, at: never, narrow: true}
	if _, err := load(narrow, "", "", nil); err == nil ||
		!strings.Contains(err.Error(), "cannot be read at any offset") {
		t.Errorf("got %v", err)
	}
	if narrow.open != 0 {
		t.Errorf("%d files that cannot be read at any offset stay open", narrow.open)
	}
}

// The same holds for a folder, except that a file whose kind cannot be found out counts as missing.
func TestFolderFaultAtEveryOp(t *testing.T) {
	dir := fstest.MapFS{"config.json": {Data: []byte("{}")}, "x.safetensors": {Data: []byte("x")}}
	count := &faultyFS{FS: dir, at: never}
	c, err := openFolder(count, "here", []Fit{func(c *Checkpoint) error { _, err := c.File(configName); return err }})
	if err != nil || count.open != 2 {
		t.Fatalf("got %v, %d open files, want 2", err, count.open)
	}
	count.close = errFault
	if err := c.Close(); !errors.Is(err, errFault) || !strings.Contains(err.Error(), "here") || count.open != 0 {
		t.Errorf("closed: got %v, %d open files", err, count.open)
	}
	for at := range never - count.at {
		disk := &faultyFS{FS: dir, at: at}
		c, err := openFolder(
			disk, "here", []Fit{nil, func(c *Checkpoint) error { _, err := c.File(configName); return err }},
		)
		if err != nil && disk.open != 0 {
			t.Errorf("operation %d: %v, and %d files stay open", at, err, disk.open)
		}
		if got := c.Names(); err == nil && !slices.Equal(got, []string{configName}) {
			t.Errorf("operation %d: got files %q and no error", at, got)
		}
	}
}

// A checkpoint whose second file alone cannot be closed says so.
func TestCloseFault(t *testing.T) {
	disk := &faultyFS{FS: inMemory(t, text("a", "of a"), text("b", "of b"), text("c", "of c")), at: never}
	c, err := load(disk, "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := c.files["b"]
	s.file = faultyReader{s.file, &faultyFS{at: never, close: errFault}}
	c.files["b"] = s
	if err := c.Close(); !errors.Is(err, errFault) || len(c.Names()) != 0 {
		t.Errorf("got %v, files %q", err, c.Names())
	}
}

// A folder holds a model if it has weights and no manifest. Otherwise the error says whether weights are missing.
func TestFolderKinds(t *testing.T) {
	const model, none, weightless = "a model", "no checkpoint", "config.json without weights"
	pipe := fstest.MapFS{configName: {}, "a.safetensors": {Mode: fs.ModeNamedPipe}}
	if _, err := openFolder(pipe, "here", nil); err == nil ||
		!strings.Contains(err.Error(), "a.safetensors is a FIFO") {
		t.Errorf("got %v", err)
	}
	for _, test := range []struct {
		names []string
		want  string
	}{
		{nil, none}, {[]string{"notes.txt"}, none}, {[]string{configName}, weightless},
		{
			[]string{configName, "pytorch_model.bin"},
			"pickles of PyTorch, which may run code, want .safetensors: python3 -c",
		},
		{[]string{configName, "pytorch_model.bin.index.json"}, "save_pretrained('.', safe_serialization=True)"},
		{[]string{configName, "model.gguf"}, weightless}, {[]string{configName, "a.safetensors"}, model},
		{[]string{configName, manifestName}, none}, {[]string{configName, "a.safetensors", manifestName}, none},
		{[]string{"a.safetensors"}, "config.json is missing"},
	} {
		dir := fstest.MapFS{}
		for _, name := range test.names {
			dir[name] = &fstest.MapFile{}
		}
		got := model
		if _, err := openFolder(dir, "here", nil); err != nil {
			got = err.Error()
			if missing := strings.Contains(test.want, "is missing"); errors.Is(err, ErrNone) == missing {
				t.Errorf("%q: got %v, ErrNone %t", test.names, err, !missing)
			}
		}
		if !strings.Contains(got, test.want) || test.want == none && strings.Contains(got, "without") {
			t.Errorf("%q: got %s, want %s", test.names, got, test.want)
		}
	}
}

// A Fit cannot read a file that has been damaged, and all fits are called until one fails.
func TestFitReadsIntactFiles(t *testing.T) {
	dir := inMemory(t, text("a", "of a"))
	var read error
	fit := func(c *Checkpoint) error { _, read = c.File("a"); return nil }
	unfit := func(*Checkpoint) error { return errFault }
	if _, err := load(dir, "", "", []Fit{nil, fit, unfit}); err == nil || !strings.Contains(err.Error(), "fault") ||
		read != nil {
		t.Errorf("got %v, and read %v", err, read)
	}
	dir[stepName(7)+"/a"].Data = []byte("of b")
	if _, err := load(dir, "", "", []Fit{fit}); err == nil || read == nil ||
		!strings.Contains(read.Error(), "a: got SHA-256") {
		t.Errorf("damaged: got %v, and read %v", err, read)
	}
	fit = func(c *Checkpoint) error { _, err := c.File("a"); return err }
	if _, err := load(dir, "", "", []Fit{fit}); err == nil ||
		strings.Count(err.Error(), "checkpoint "+stepName(7)) != 1 {
		t.Errorf("got %v, want the path once", err)
	}
}

// Methods of no Dir and no Checkpoint do nothing.
func TestNothing(t *testing.T) {
	var d *Dir
	var c *Checkpoint
	if d.Close() != nil || c.Close() != nil || c.Names() != nil {
		t.Errorf("got %v, %v, %v", d.Close(), c.Close(), c.Names())
	}
	if _, err := c.File("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// The largest file is read, and no larger one.
func TestMaxFile(t *testing.T) {
	for more, want := range map[int64]string{0: "fault", 1: "got 33554433 bytes, want at most 33554432"} {
		c := &Checkpoint{files: map[string]stored{"a": {entry{Size: MaxFile + more}, faultyReader{disk: &faultyFS{}}}}}
		if _, err := c.File("a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes more: got %v, want %s", more, err, want)
		}
	}
}

// A step has at most eight digits.
func TestStepBorders(t *testing.T) {
	for step, valid := range map[int]bool{-1: false, 0: true, maxStep: true, maxStep + 1: false} {
		d, _ := newMemDir()
		if err := d.Save(step, []File{text("a", "of a")}); (err == nil) != valid {
			t.Errorf("step %d: got %v", step, err)
		} else if err != nil && !strings.Contains(err.Error(), "the step must be from 0 to 99999999") {
			t.Errorf("step %d: got %v", step, err)
		}
	}
}

// The list of a directory under the lock may fail, too.
func TestFaultUnderTheLock(t *testing.T) {
	d, _ := twoSaved(t)
	d.disk = &faultyDisk{err: errFault}
	if _, err := d.Load(); !errors.Is(err, errFault) {
		t.Errorf("got %v", err)
	}
}
