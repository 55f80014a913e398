package checkpoint

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
	"github.com/pkg/errors"
)

// inMemory returns one saved checkpoint.
func inMemory(t testing.TB, files ...File) fstest.MapFS {
	t.Helper()
	d, m := newMemDir()
	if err := d.Save(7, files); err != nil {
		t.Fatal(err)
	}
	return m.checkpoints()
}

// TestEveryBit: with any one bit flipped, or cut off at any byte, or a byte longer, no file of a checkpoint is
// accepted.
func TestEveryBit(t *testing.T) {
	dir := inMemory(
		t, text("model.safetensors", strings.Repeat("\x00\x01weights", 120)), text("state.json", `{"step":7}`),
	)
	if _, err := load(dir, "", "", nil); err != nil {
		t.Fatal(err)
	}
	flips, cuts := 0, 0
	refuse := func(what, name string, n int) {
		if _, err := load(dir, "", "", nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %s %d: got %v", name, what, n, err)
		}
	}
	for name, f := range dir {
		intact := f.Data
		if f.Mode.IsDir() {
			continue
		}
		f.Data = bytes.Clone(intact)
		for bit := range 8 * len(intact) {
			f.Data[bit/8] ^= 1 << (bit % 8)
			refuse("flipped bit", name, bit)
			f.Data[bit/8] ^= 1 << (bit % 8)
			flips++
		}
		for n := range intact {
			f.Data = intact[:n]
			refuse("cut to", name, n)
			cuts++
		}
		for _, more := range []string{"\x00", "\n", " "} {
			f.Data = []byte(string(intact) + more)
			refuse("lengthened by", name, len(more))
		}
		f.Data = intact
	}
	t.Logf("%d flips and %d cuts refused", flips, cuts)
	if flips < 8*1000 {
		t.Errorf("only %d flips", flips)
	}
}

// TestFallBack: damage to the newest checkpoint is reported, and the previous one is loaded. If all are damaged, the
// error differs from an empty directory's.
func TestFallBack(t *testing.T) {
	d, path := twoSaved(t)
	newest := filepath.Join(path, stepName(2))
	if err := os.WriteFile(filepath.Join(newest, "weights"), []byte("short"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := wantLoad(t, path, 1, 1)
	if len(c.Refused) != 1 {
		t.Fatalf("refused %v", c.Refused)
	}
	for _, want := range []string{newest, "weights", "got 5 bytes, want 145"} {
		if got := c.Refused[0].Error(); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if _, err := Load(newest); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), newest) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
	if err := os.Remove(filepath.Join(path, stepName(1), "state.json")); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path)
	if !errors.Is(err, ErrDamaged) || errors.Is(err, ErrNone) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
	for _, want := range []string{stepName(1), "state.json", stepName(2), "weights"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want %q in it", err, want)
		}
	}
	save(t, d, 2, 2) // over the damaged one
	wantLoad(t, path, 2, 2)
}

// TestNotRegular: a file that is not regular is refused before it is opened.
func TestNotRegular(t *testing.T) {
	for _, name := range []string{manifestName, "weights"} {
		_, path := twoSaved(t)
		file := filepath.Join(path, stepName(2), name)
		if err := os.Rename(file, filepath.Join(path, "moved")); err != nil {
			t.Fatal(err)
		}
		for kind, make := range map[string]func() error{
			"link":      func() error { return os.Symlink(filepath.Join(path, "moved"), file) },
			"directory": func() error { return os.Mkdir(file, 0o755) },
		} {
			if err := make(); err != nil {
				t.Fatal(err)
			}
			if c := wantLoad(t, path, 1, 1); len(c.Refused) != 1 ||
				!strings.Contains(c.Refused[0].Error(), ", want a regular file") {
				t.Errorf("%s for %s: refused %v", kind, name, c.Refused)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestManifest lists manifests with another content or another form.
func TestManifest(t *testing.T) {
	dir := inMemory(t, text("a", "1"), text("b", "2"))
	good := string(dir["step-00000007/manifest.json"].Data)
	swap := func(from, to string) string { return strings.Replace(good, from, to, 1) }
	files := good[strings.Index(good, "[")+1 : strings.Index(good, "]")]
	one := files[:strings.Index(files, "},")+1]
	for what, text := range map[string]string{
		"empty":               "",
		"null":                "null\n",
		"key in other case":   swap(`"size"`, `"Size"`),
		"another key":         swap(`"format"`, `"x": 1, "format"`),
		"key twice":           swap(`"size": 1`, `"size": 1, "size": 1`),
		"other white space":   swap("\n", "\r\n"),
		"no newline":          strings.TrimSpace(good),
		"text after":          good + good,
		"other format":        swap("checkpoint 1", "checkpoint 2"),
		"no files":            strings.Replace(good, files, "", 1),
		"null files":          strings.Replace(good, "["+files+"]", "null", 1),
		"file twice":          strings.Replace(good, files, one+","+strings.TrimSuffix(one, "\n")+"\n  ", 1),
		"other order":         strings.NewReplacer(`"a"`, `"b"`, `"b"`, `"a"`).Replace(good),
		"path":                swap(`"a"`, `"../step-00000007/a"`),
		"parent":              swap(`"a"`, `".."`),
		"itself":              swap(`"b"`, `"manifest.json"`),
		"missing file":        swap(`"b"`, `"c"`),
		"negative size":       swap(`"size": 1`, `"size": -1`),
		"size as text":        swap(`"size": 1`, `"size": "1"`),
		"upper-case SHA":      strings.ToUpper(good),
		"too large a SHA":     swap(`"sha256": "`, `"sha256": "00`),
		"size beyond int64":   swap(`"size": 1`, `"size": 9223372036854775808`),
		"a megabyte and more": good + strings.Repeat(" ", maxManifest),
	} {
		if text == good {
			t.Errorf("%s: changes nothing", what)
		}
		dir["step-00000007/manifest.json"].Data = []byte(text)
		if _, err := load(dir, "", "", nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want ErrDamaged", what, err)
		}
	}
}

// TestHugeFiles: sizes are checked before memory is allocated for them.
func TestHugeFiles(t *testing.T) {
	for name, want := range map[string]string{manifestName: "the limit is", "weights": "want 145"} {
		_, path := twoSaved(t)
		if err := os.Truncate(filepath.Join(path, stepName(2), name), 1<<36); err != nil {
			t.Skip("this file system has no sparse files: ", err)
		}
		if c := wantLoad(t, path, 1, 1); !strings.Contains(c.Refused[0].Error(), want) {
			t.Errorf("%s: got %v, want %q", name, c.Refused, want)
		}
	}
}

// FuzzManifest: no text makes the decoder panic, an accepted text names no path, and no two accepted texts mean the
// same.
func FuzzManifest(f *testing.F) {
	dir := inMemory(f, text("a", "1"), text("b", "2"))
	good := dir["step-00000007/manifest.json"].Data
	f.Add(good)
	f.Add(bytes.ToUpper(good))
	f.Add([]byte(`{"format":"pedestrian checkpoint 1","files":[{"name":"../a","size":-1,"sha256":""}]}`))
	f.Add([]byte(`{"files":null}`))
	f.Add([]byte("[[[["))
	f.Fuzz(func(t *testing.T, text []byte) {
		var m manifest
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(text)), 10*time.Second, func() { m, err = decodeManifest(text) })
		if err != nil {
			return
		}
		if again, err := m.encode(); err != nil || !bytes.Equal(again, text) {
			t.Fatalf("%q is written %q (%v)", text, again, err)
		}
		for _, e := range m.Files {
			if !fs.ValidPath(e.Name) || strings.ContainsAny(e.Name, `/\:`) || e.Name == manifestName {
				t.Fatalf("accepted the name %q", e.Name)
			}
		}
		c := new(Checkpoint)
		err = c.open(
			fstest.MapFS{"x/manifest.json": {Data: text}, "x/a": {Data: []byte("1")}, "x/b": {Data: []byte("2")}},
			"x", nil)
		for name := range c.files {
			want := map[string]string{"a": "1", "b": "2"}[name]
			if got, e := c.File(name); err == nil && (e != nil || string(got) != want) {
				t.Fatalf("%q gives %q (%v) for %s, want %q", text, got, e, name, want)
			}
		}
	})
}
