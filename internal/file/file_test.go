package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// openers returns all functions that open a file.
func openers() map[string]func(path string) error {
	closed := func(f *os.File, err error) error {
		if err == nil {
			err = f.Close()
		}
		return err
	}
	return map[string]func(path string) error{
		"Open":      func(path string) error { return closed(Open(path)) },
		"Create":    func(path string) error { return closed(Create(path)) },
		"Append":    func(path string) error { return closed(Append(path)) },
		"Overwrite": func(path string) error { return closed(Overwrite(path)) },
		"OpenLock":  func(path string) error { return closed(OpenLock(path)) },
		"Read":      func(path string) error { _, err := Read(path, 9); return err },
		"ReadText":  func(path string) error { _, err := ReadText(path, 9); return err },
		"Replace": func(path string) error {
			return Replace(path, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err })
		},
	}
}

// Content can be read, appended, overwritten and replaced.
func TestContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	for _, step := range []struct {
		open func(string) (*os.File, error)
		want string
	}{{Create, "1"}, {Append, "12"}, {Overwrite, "3"}, {Append, "34"}} {
		f, err := step.open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(step.want[len(step.want)-1:]); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path, 2); string(got) != step.want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, step.want)
		}
	}
	if f, err := Overwrite(path); err != nil {
		t.Fatal(err)
	} else if info, err := f.Stat(); err != nil || info.Size() != 0 || f.Close() != nil {
		t.Errorf("got %d bytes to overwrite with, %v", info.Size(), err)
	}
	if err := openers()["Replace"](path); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadText(path, 3); string(got) != "new" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := Replace(
		path, func(w io.Writer) error { w.Write([]byte("half")); return fs.ErrClosed },
	); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if got, err := Read(path, 3); string(got) != "new" || err != nil ||
		!slices.Equal(names(t, filepath.Dir(path)), []string{"a"}) {
		t.Errorf("after half a replacement: got %q, %v in %v", got, err, names(t, filepath.Dir(path)))
	}
	if _, err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created a file that exists: %v", err)
	}
	if _, err := Open(path + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A directory is refused for reading and for writing, and stays. The error names it as a directory.
func TestDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, open := range openers() {
		if err := open(dir); err == nil || !strings.Contains(err.Error(), dir+": is a directory, want a regular file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A file that claims a huge size is judged by its content, before memory is allocated for its size.
func TestClaims(t *testing.T) {
	dir := t.TempDir()
	sparse := func(name, begin string, size int64) string {
		path := put(t, filepath.Join(dir, name), begin)
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		read func(string, int64) ([]byte, error)
		path string
		want string
	}{
		{Read, sparse("a", "x", 1<<40), "a: got 1099511627776 bytes, want at most 1000000000"},
		{ReadText, sparse("b", "x", 1<<40), "b: got 1099511627776 bytes, want at most 1000000000"},
		{ReadText, sparse("c", "ab\ncd\n", 900_000_000), "c: NUL byte at offset 6, line 3"},
		{ReadText, sparse("d", strings.Repeat("abc\n", 1<<15), 1<<17+1), "d: NUL byte at offset 131072, line 32769"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := test.read(test.path, 1_000_000_000)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasSuffix(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: %d bytes allocated", test.path, got)
		}
	}
}

// A file that grows while it is read is read up to the limit.
func TestGrown(t *testing.T) {
	for n, fails := range map[int]bool{3: false, 5: false, 6: true} {
		got, err := content(strings.NewReader("abcdefghi"[:n]), "name", 1, 5)
		if fails != (err != nil) || !fails && string(got) != "abcdefghi"[:n] {
			t.Errorf("%d bytes: got %q, %v", n, got, err)
		}
	}
}

// Directory behaves like os.DirFS, with complete paths in its errors.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "b", "c"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "b", "d"), "of d")
	put(t, filepath.Join(dir, "a"), "of a")
	if err := fstest.TestFS(Directory(dir), "a", "b/d", "b/c"); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("n", 300)
	for _, test := range []struct{ at, name, want string }{
		{filepath.Join(dir, "a"), ".", filepath.Join(dir, "a")},
		{filepath.Join(dir, long), ".", long},
		{dir, "x", filepath.Join(dir, "x")},
	} {
		d := Directory(test.at)
		_, listed := d.ReadDir(test.name)
		_, stat := d.Stat(test.name + "/.."[:0])
		for _, err := range []error{listed, stat} {
			if err != nil && !strings.Contains(err.Error(), test.want) || listed == nil {
				t.Errorf("got %v, want %s in it", err, test.want)
			}
		}
	}
	d := Directory(dir)
	for _, bad := range []string{"../a", "/a", ""} {
		for op, f := range map[string]func() error{
			"open":     func() error { _, err := d.Open(bad); return err },
			"readdir":  func() error { _, err := d.ReadDir(bad); return err },
			"stat":     func() error { _, err := d.Stat(bad); return err },
			"lstat":    func() error { _, err := d.Lstat(bad); return err },
			"readlink": func() error { _, err := d.ReadLink(bad); return err },
		} {
			var at *fs.PathError
			if err := f(); !errors.As(err, &at) || at.Op != op || at.Path != bad || at.Err != fs.ErrInvalid {
				t.Errorf("%s %q: got %v", op, bad, err)
			}
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "link")); err != nil {
		t.Skip("this file system has no symbolic links: ", err)
	}
	if to, err := d.ReadLink("link"); to != "a" || err != nil {
		t.Errorf("got the link's target %q, %v", to, err)
	}
	if _, err := d.ReadLink("a"); err == nil {
		t.Error("a file that is no link has a target")
	}
}

// Files have the usual mode, and can only be written if they are opened for writing.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	usual, err := os.Stat(put(t, filepath.Join(dir, "usual"), ""))
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(string) (*os.File, error){
		"Create": Create, "Append": Append, "Overwrite": Overwrite, "OpenLock": OpenLock,
	} {
		f, err := open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Mode() != usual.Mode() {
			t.Errorf("%s: got mode %v, want %v", name, info.Mode(), usual.Mode())
		}
		if _, err := f.WriteString("x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := f.ReadAt(make([]byte, 1), 0); (err == nil) != (name == "OpenLock") {
			t.Errorf("%s: reading: got %v", name, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// badReader fails after its text.
type badReader struct{ text io.Reader }

func (r badReader) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	if err == io.EOF {
		err = fs.ErrClosed
	}
	return n, err
}

// An error while reading is returned, also after a text without a NUL byte.
func TestReadErrors(t *testing.T) {
	if _, err := content(badReader{strings.NewReader("abc")}, "name", 3, 9); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
	if err := checkText(badReader{strings.NewReader("abc")}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// A text with a NUL byte is not a text. If it is also invalid UTF-8 before that, in the first 64 kB, it has another
// encoding, and the error gives the first such byte.
func TestCheckText(t *testing.T) {
	long := strings.Repeat("a\n", 1<<15)
	for text, want := range map[string]string{
		"": "", "text\n": "", "\xff": "", "\x00": "NUL byte at offset 0, line 1",
		"a\nb\x00":           "NUL byte at offset 3, line 2",
		"\xff\xfea\x00":      "not valid UTF-8: byte 0xff at offset 0, line 1",
		"a\n\xfe\xffa\x00":   "not valid UTF-8: byte 0xfe at offset 2, line 2",
		"a\xff\x00":          "not valid UTF-8: byte 0xff at offset 1, line 1",
		"\uFFFD\x00":         "NUL byte at offset 3, line 1", // valid, though it stands for an invalid one
		"\u00e9\n\x00\xff":   "NUL byte at offset 3, line 2",
		long + "\xff\n\x00":  "NUL byte at offset 65538, line 32770",
		long + long + "\x00": "NUL byte at offset 131072, line 65537",
	} {
		got := ""
		if err := checkText(strings.NewReader(text)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%.20q: got %s, want %s", text, got, want)
		}
	}
}

// Offsets of invalid bytes.
func TestInvalidUTF8(t *testing.T) {
	for text, want := range map[string]int{
		"": -1, "a": -1, "\xff": 0, "a\xff": 1, "\u00e9\xc3": 2, "\xc3": 0, "\uFFFD": -1, "\uFFFD\xff": 3,
		"\uFFFDa": -1,
	} {
		if got := invalidUTF8([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// A temporary name is a decimal number.
func TestIsNumber(t *testing.T) {
	for s, want := range map[string]bool{
		"": false, "0": true, "9": true, "18446744073709551615": true, "a": false, "-1": false,
	} {
		if got := isNumber(s); got != want {
			t.Errorf("%q: got %t, want %t", s, got, want)
		}
	}
}

// Replace flushes the content before it renames the file, and the new name before it returns. If a step fails, Replace
// returns its error and leaves no temporary file; before the rename the old content stays.
func TestReplaceFlushes(t *testing.T) {
	all := []string{"write", "sync", "rename", "syncDir"}
	for failing := range len(all) + 1 {
		dir := t.TempDir()
		path, failure := put(t, filepath.Join(dir, "a"), "old"), errors.New("failure")
		var steps []string
		step := func(name string) error {
			if steps = append(steps, name); len(steps)-1 == failing {
				return failure
			}
			return nil
		}
		err := replace(path, func(w io.Writer) error {
			io.WriteString(w, "new")
			return step("write")
		}, disk{
			sync: func(f *os.File) error {
				if content, err := os.ReadFile(f.Name()); err != nil || string(content) != "new" {
					t.Errorf("sync: got %q, %v, want a file with the new content", content, err)
				}
				return step("sync")
			},
			rename: func(from, to string) error {
				if err := step("rename"); err != nil {
					return err
				}
				return os.Rename(from, to)
			},
			syncDir: func(got string) error {
				if got != dir {
					t.Errorf("syncDir: got %s, want %s", got, dir)
				}
				return step("syncDir")
			},
		})
		content, want := "new", failure
		if failing == len(all) {
			want = nil
		}
		if failing < 3 {
			content = "old"
		}
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("step %d fails: got error %v, want %v", failing, err, want)
		}
		if got := all[:min(failing+1, len(all))]; !slices.Equal(steps, got) {
			t.Errorf("step %d fails: got steps %v, want %v", failing, steps, got)
		}
		if got, _ := Read(path, 9); string(got) != content {
			t.Errorf("step %d fails: got content %q, want %q", failing, got, content)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"a"}) {
			t.Errorf("step %d fails: got files %v, want a alone", failing, got)
		}
	}
}

// Replace returns the error of creating the temporary file under the name of the file, and the error of closing it.
func TestReplaceErrors(t *testing.T) {
	write := func(io.Writer) error { return nil }
	path := filepath.Join(t.TempDir(), "nowhere", "a")
	if err := Replace(path, write); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path+":") {
		t.Errorf("in no directory: got %v, want an error that names %s", err, path)
	}
	path = put(t, filepath.Join(t.TempDir(), "a"), "old")
	err := Replace(path, func(w io.Writer) error { return w.(io.Closer).Close() })
	if got, _ := Read(path, 9); !errors.Is(err, fs.ErrClosed) || string(got) != "old" {
		t.Errorf("already closed: got %v, %q", err, got)
	}
}

// Sweep ignores directories that it cannot read, and Hold returns the errors of the system.
func TestSweepErrors(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	Sweep(nowhere, "", func(string) bool { return true })
	removeDead(nowhere)
	long := filepath.Join(t.TempDir(), strings.Repeat("n", 300))
	if _, err := Hold(long); locks && (err == nil || errors.Is(err, ErrLocked)) {
		t.Errorf("got %v, want a name that is too long", err)
	}
}

// A name that another file has taken over since it was opened does not protect or remove that file.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "a"), "old")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !named(f, path) {
		t.Error("a file that has its name has not")
	}
	if named(f, put(t, filepath.Join(dir, "b"), "other")) {
		t.Error("a file has the name of another")
	}
	if err := os.Rename(path, filepath.Join(dir, "c")); err != nil {
		t.Skip("this system does not rename open files: ", err)
	}
	if named(f, path) {
		t.Error("a file has a name that does not exist")
	}
	if f.Close(); named(f, filepath.Join(dir, "c")) {
		t.Error("a closed file has a name")
	}
}

// The files that a killed process left are removed by the next one that writes the same file. A file that another
// process is writing stays, and so do other files.
func TestReplaceSweeps(t *testing.T) {
	if !locks {
		t.Skip("this system has no locks")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "loss.png")
	for _, name := range []string{
		".loss.png-123456789", ".loss.png-7", ".loss.png-x", ".loss.png-", ".other.png-5", "loss.png-3", "42",
	} {
		put(t, filepath.Join(dir, name), "half")
	}
	err := Replace(path, func(w io.Writer) error {
		if err := Replace(path, func(w io.Writer) error { return nil }); err != nil { // another at the same time
			t.Error(err)
		}
		_, err := io.WriteString(w, "complete")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := Read(path, 9); string(got) != "complete" {
		t.Errorf("got %q", got)
	}
	want := []string{".loss.png-", ".loss.png-x", ".other.png-5", "42", "loss.png", "loss.png-3"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Directories are swept and held like files.
func TestSweepDirectories(t *testing.T) {
	if !locks {
		t.Skip("this system has no locks")
	}
	dir := t.TempDir()
	for _, name := range []string{"x-held", "x-dead", "y-other"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	holder, err := Hold(filepath.Join(dir, "x-held"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Hold(filepath.Join(dir, "x-held")); !errors.Is(err, ErrLocked) {
		t.Errorf("held twice: got %v", err)
	}
	sweep := func() { Sweep(dir, "x-", func(rest string) bool { return len(rest) == 4 }) }
	if sweep(); !slices.Equal(names(t, dir), []string{"x-held", "y-other"}) {
		t.Errorf("got %v", names(t, dir))
	}
	if err := holder.Close(); err != nil {
		t.Fatal(err)
	}
	if sweep(); !slices.Equal(names(t, dir), []string{"y-other"}) {
		t.Errorf("got %v", names(t, dir))
	}
	if _, err := Hold(filepath.Join(dir, "x-dead")); !errors.Is(err, ErrLocked) {
		t.Errorf("held what was swept: %v", err)
	}
}

// A lock file can be locked once, keeps its content, and must not be a link.
func TestOpenLock(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "lock"), "content")
	f, err := OpenLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLock(path); locks && err != ErrLocked {
		t.Errorf("locked twice: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path, 99); string(got) != "content" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Skip("this file system has no symbolic links: ", err)
	}
	if _, err := OpenLock(link); err == nil || !strings.Contains(err.Error(), link+": is a symbolic link") {
		t.Errorf("got %v", err)
	}
	if got, err := Read(link, 99); string(got) != "content" || err != nil {
		t.Errorf("a link to a regular file: got %q, %v", got, err)
	}
}

// Every kind of file has a name.
func TestKind(t *testing.T) {
	var got bytes.Buffer
	for _, mode := range []fs.FileMode{0o644, fs.ModeDir, fs.ModeNamedPipe, fs.ModeSocket, fs.ModeDevice,
		fs.ModeDevice | fs.ModeCharDevice, fs.ModeSymlink, fs.ModeIrregular | 0o777} {
		fmt.Fprintf(&got, "%s; ", Kind(mode))
	}
	const want = "a regular file; a directory; a FIFO; a socket; a device; a device; a symbolic link; a file of " +
		"mode ?rwxrwxrwx; "
	if got.String() != want {
		t.Errorf("got %s, want %s", &got, want)
	}
}

// MoveAll replaces files of the same names and leaves the others; a directory that is missing is an error.
func TestMoveAll(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "new", "to")
	for _, move := range []map[string]string{{"a": "1", "b": "2"}, {"b": "3"}} {
		if err := os.Mkdir(from, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range move {
			if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := MoveAll(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a": "1", "b": "3"} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
		}
	}
	if err := MoveAll(from, to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("moved again: got %v", err)
	}
}
