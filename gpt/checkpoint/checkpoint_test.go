package checkpoint

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
)

// text returns a file with this content.
func text(name, content string) File {
	return File{Name: name, Write: func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}}
}

// state returns the files of a step, whose contents depend on the step and the attempt.
func state(step, attempt int) []File {
	return []File{
		text("weights", strings.Repeat(fmt.Sprintf("weights of step %d, attempt %d\n", step, attempt), 5)),
		text("state.json", fmt.Sprintf(`{"step":%d,"attempt":%d}`, step, attempt)),
	}
}

// attemptOf checks that a checkpoint holds one complete state, and returns its attempt.
func attemptOf(c *Checkpoint) (attempt int, err error) {
	content, err := c.File("state.json")
	if err != nil {
		return 0, err
	}
	var step int
	if _, err := fmt.Sscanf(string(content), `{"step":%d,"attempt":%d}`, &step, &attempt); err != nil {
		return 0, err
	}
	if step != c.Step {
		return 0, errors.Errorf("step %d holds the state of step %d", c.Step, step)
	}
	for _, f := range state(step, attempt) {
		var want strings.Builder
		if err := f.Write(&want); err != nil {
			return 0, err
		}
		if got, err := c.File(f.Name); err != nil || string(got) != want.String() {
			return 0, errors.Errorf("%s: got %q, want %q (%v)", f.Name, got, want.String(), err)
		}
	}
	return attempt, nil
}

func open(t testing.TB, path string) *Dir {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func save(t testing.TB, d *Dir, step, attempt int) {
	t.Helper()
	if err := d.Save(step, state(step, attempt)); err != nil {
		t.Fatal(err)
	}
}

// wantLoad checks that path loads this state.
func wantLoad(t testing.TB, path string, step, attempt int) *Checkpoint {
	t.Helper()
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := attemptOf(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Step != step || got != attempt {
		t.Fatalf("got step %d attempt %d, want step %d attempt %d", c.Step, got, step, attempt)
	}
	return c
}

// wantNames checks the names in the directory, except the lock.
func wantNames(t testing.TB, path string, want ...string) {
	t.Helper()
	got, err := osDisk{}.list(path)
	if err != nil {
		t.Fatal(err)
	}
	got = slices.DeleteFunc(got, func(name string) bool { return name == lockName })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("names (-want +got):\n%s", diff)
	}
}

func TestSaveLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "out")
	if _, err := Load(path); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), path) {
		t.Errorf("missing directory: got %v, want ErrNone", err)
	}
	d := open(t, path)
	if _, err := Load(path); !errors.Is(err, ErrNone) || errors.Is(err, ErrDamaged) {
		t.Errorf("empty directory: got %v, want ErrNone", err)
	}
	for _, step := range []int{0, 5, 10} {
		save(t, d, step, 1)
		wantLoad(t, path, step, 1)
	}
	wantNames(t, path, "step-00000005", "step-00000010")
	wantLoad(t, filepath.Join(path, "step-00000005"), 5, 1)
	if _, err := Load(filepath.Join(path, "step-00000007")); !errors.Is(err, ErrNone) {
		t.Errorf("missing step: got %v, want ErrNone", err)
	}
	c := wantLoad(t, path, 10, 1)
	if want := filepath.Join(path, "step-00000010"); c.Path != want {
		t.Errorf("got path %s, want %s", c.Path, want)
	}
	if _, err := c.File("weight"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "weight") {
		t.Errorf("missing file: got %v", err)
	}
	save(t, d, 10, 2) // again
	wantLoad(t, path, 10, 2)
	if err := d.Save(7, state(7, 1)); err == nil || !strings.Contains(err.Error(), "step-00000010 is of a later step") {
		t.Errorf("before a later step: got %v", err)
	}
	wantLoad(t, path, 10, 2)
	wantNames(t, path, "step-00000005", "step-00000010")
}

// Save continues from the checkpoint read under the lock: a damaged later step stays until the run has passed it, and
// no step that was not read is removed for an earlier one.
func TestContinueUnderTheLock(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	save(t, d, 3, 1)
	save(t, d, 9, 1)
	if err := os.Truncate(filepath.Join(path, stepName(9), "weights"), 3); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(6, state(6, 1)); err == nil {
		t.Error("saved before a step that was not read")
	}
	if c, err := d.Load(); err != nil || c.Step != 3 || len(c.Refused) != 1 {
		t.Fatalf("got %+v, %v", c, err)
	}
	save(t, d, 6, 1)
	wantNames(t, path, stepName(3), stepName(6), stepName(9))
	wantLoad(t, path, 6, 1)
	save(t, d, 12, 1)
	wantNames(t, path, stepName(6), stepName(12))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("loaded without the lock: %v", err)
	}
}

// A loaded checkpoint can be read after it has been removed, but not after it has been closed.
func TestReadOnly(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	save(t, d, 1, 1)
	c := wantLoad(t, path, 1, 1)
	save(t, d, 2, 1)
	save(t, d, 3, 1)
	if attempt, err := attemptOf(c); err != nil || attempt != 1 {
		t.Errorf("after it was removed: got attempt %d, %v", attempt, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.File("weights"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: got %v", err)
	}
}

// A checkpoint that does not fit is skipped like a damaged one, before its files are read. A Fit reads the saved
// content.
func TestFit(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	save(t, d, 1, 1)
	save(t, d, 2, 1)
	fit := func(c *Checkpoint) error {
		if c.Step == 2 {
			return errors.New("too wide")
		}
		_, err := c.File("state.json")
		return err
	}
	c, err := Load(path, fit)
	if err != nil || c.Step != 1 || len(c.Refused) != 1 || !strings.Contains(c.Refused[0].Error(), "too wide") {
		t.Fatalf("got %+v, %v", c, err)
	}
	if err := os.WriteFile(
		filepath.Join(path, stepName(1), "state.json"), []byte(`{"step":1,"attempt":7}`), 0o644,
	); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, fit); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "state.json: got SHA-256") {
		t.Errorf("got %v", err)
	}
}

// A file too large for memory is read piece by piece.
func TestLargeFile(t *testing.T) {
	path := t.TempDir()
	if err := open(t, path).Save(1, []File{content("weights", make([]byte, MaxFile+1))}); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.File("weights"); err == nil || !strings.Contains(
		err.Error(), "got 33554433 bytes, want at most 33554432",
	) {
		t.Errorf("got %v", err)
	}
	if r, err := c.Open("weights"); err != nil || r.Size() != MaxFile+1 {
		t.Errorf("got %v", err)
	}
}

func TestOpen(t *testing.T) {
	path := t.TempDir()
	others := []string{".tmp-step-00000003", ".trash-ABC-step-00000001"} // of somebody else
	d := open(t, path)
	for _, name := range append(others, "step-1", "kept", tmpPrefix+d.mark+"-x", trashPrefix+d.mark+"-x") {
		if err := os.MkdirAll(filepath.Join(path, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = open(t, path)
	wantNames(t, path, append(others, "kept", "step-1")...)
	if _, err := Open(""); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("no name: got %v", err)
	}
	if _, err := Load(""); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("no name: got %v", err)
	}
	if _, err := Open(path); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), path) {
		t.Errorf("opened twice: got %v, want ErrLocked", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(1, state(1, 1)); err == nil {
		t.Error("saved into a closed directory")
	}
	d = open(t, path)
	save(t, d, 1, 1)
	wantNames(t, path, append(others, "kept", "step-00000001", "step-1")...)

	file := filepath.Join(path, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil {
		t.Error("opened a file as a directory")
	}
	if _, err := Load(file); err == nil || errors.Is(err, ErrNone) {
		t.Errorf("loaded a file: %v", err)
	}
}

func TestSaveErrors(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	save(t, d, 1, 1)
	boom := errors.New("boom")
	for want, files := range map[string][]File{
		"no files":       nil,
		"appears twice":  {text("a", ""), text("b", ""), text("a", "")},
		"reserved":       {text("manifest.json", "")},
		"a: boom":        {{Name: "a", Write: func(io.Writer) error { return boom }}},
		"0 bytes":        {text("", "")},
		"101 bytes":      {text(strings.Repeat("a", 101), "")},
		`name "..": "."`: {text("..", "")},
		`"/" at byte 1`:  {text("a/b", "")},
		`"." at byte 0`:  {text(".a", "")},
		`"\\" at byte 1`: {text(`a\b`, "")},
		`"\x00" at byte`: {text("a\x00", "")},
		`"ÿ" at byte 1`:  {text("a\xff", "")},
	} {
		if err := d.Save(2, files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		wantLoad(t, path, 1, 1)
		wantNames(t, path, "step-00000001")
	}
	for _, step := range []int{-1, maxStep + 1} {
		if err := d.Save(step, state(step, 1)); err == nil || !strings.Contains(err.Error(), fmt.Sprint(step)) {
			t.Errorf("step %d: got %v", step, err)
		}
	}
	save(t, d, maxStep, 1)
	wantLoad(t, path, maxStep, 1)
}

func TestStepOf(t *testing.T) {
	for name, want := range map[string]int{
		"step-00000000": 0, "step-00000500": 500, "step-00000500.old": 500, "step-99999999": maxStep,
		"step-": -1, "step-500": -1, "step-000000500": -1, "step--0000500": -1, "step-+0000500": -1,
		"step-100000000": -1,
		"Step-00000500":  -1, "00000500": -1, "step-00000500.old.old": -1, "step-0000050 ": -1,
		"step-00000500.trash": -1,
	} {
		step, ok := stepOf(name)
		if ok != (want >= 0) || (ok && step != want) {
			t.Errorf("%q: got %d, %v, want %d", name, step, ok, want)
		}
	}
}
