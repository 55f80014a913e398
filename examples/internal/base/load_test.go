package base

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

func content(s string) []checkpoint.File {
	return []checkpoint.File{
		{Name: "state", Write: func(w io.Writer) error { _, err := io.WriteString(w, s); return err }},
	}
}

func save(path string, step int, files []checkpoint.File) error {
	dir, err := checkpoint.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Save(step, files)
}

// A run is read under its lock: no other process can save between the reading and the first save.
func TestResumeReadsUnderTheLock(t *testing.T) {
	path := t.TempDir()
	for step := range 2 {
		if err := save(path, step, content("x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(path, "step-00000001", "state"), []byte("\x1b"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := 0
	var said bytes.Buffer
	under := func(*checkpoint.Checkpoint) error {
		read++
		if _, err := checkpoint.Open(path); !errors.Is(err, checkpoint.ErrLocked) {
			t.Errorf("read without the lock: %v", err)
		}
		return nil
	}
	dir, cp, err := Kind{Fit: under}.Resume(path, &said)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if cp.Step != 0 || read == 0 || !strings.Contains(said.String(), "skipped: ") ||
		strings.Count(said.String(), "\n") != 1 {
		t.Errorf(
			"step %d after %d looks, printed %q, want step 0 and the skipped checkpoint", cp.Step, read, said.String(),
		)
	}
	if _, _, err := (Kind{}).Resume(path, io.Discard); !errors.Is(err, checkpoint.ErrLocked) {
		t.Errorf("with a run in progress: got %v", err)
	}
}

// A run that is resumed with another arithmetic or another compiler prints that its last digits will differ.
func TestResumeComparesBuilds(t *testing.T) {
	this := train.ThisBuild()
	other := this
	other.Go = "go1.25\x1b"
	for _, c := range []struct {
		build train.Build
		want  string
	}{{this, ""}, {other, "saved by another build, \"go1.25"}} {
		path, write := t.TempDir(), train.WriteJSON(map[string]any{"build": c.build})
		if err := save(path, 1, []checkpoint.File{{Name: train.StateFile, Write: write}}); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		dir, cp, err := Kind{Fit: func(*checkpoint.Checkpoint) error { return nil }}.Resume(path, &said)
		if err != nil {
			t.Fatal(err)
		}
		cp.Close()
		dir.Close()
		if got := said.String(); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") ||
			strings.Contains(got, "\x1b") {
			t.Errorf("printed %q, want %q", got, c.want)
		}
	}
}

// Missing directories are not created, and an existing run is not started again.
func TestResumeAndBeginRefuse(t *testing.T) {
	empty, taken := t.TempDir(), t.TempDir()
	first := "checkpoint " + empty + ": no checkpoint; go run ./examples/tinyshakespeare -out_dir " + empty +
		" trains a model first"
	if _, _, err := Decoder().Resume(empty, io.Discard); !errors.Is(err, checkpoint.ErrNone) || err.Error() != first {
		t.Errorf("nothing to resume: got %v, want %s", err, first)
	}
	if _, err := Decoder().Load(empty, io.Discard); !errors.Is(err, checkpoint.ErrNone) || err.Error() != first {
		t.Errorf("nothing to load: got %v, want %s", err, first)
	}
	nowhere := filepath.Join(empty, "nowhere")
	for want, load := range map[string]func() error{
		": no checkpoint; want a folder in Hugging Face's form, a GGUF file, or the directory of a run": func() error {
			_, err := Kind{Open: checkpoint.Load}.Load(empty, io.Discard)
			return err
		},
		": no checkpoint: there is no such file or directory; want a folder in Hugging Face's form, a GGUF file, or " +
			"the directory of a run": func() error {
			_, err := Kind{Open: checkpoint.Load}.Load(nowhere, io.Discard)
			return err
		},
		": no checkpoint: there is no such file or directory; go run ./examples/tinyshakespeare -out_dir " + nowhere +
			" trains a model first": func() error {
			_, err := Decoder().Load(nowhere, io.Discard)
			return err
		},
	} {
		if err := load(); !errors.Is(err, checkpoint.ErrNone) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	first = strings.ReplaceAll(first, "tinyshakespeare", "translate")
	if _, err := Translator().Load(empty, io.Discard); err == nil || err.Error() != first {
		t.Errorf("nothing to translate with: got %v, want %s", err, first)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := save(taken, 3, content("x")); err != nil {
		t.Fatal(err)
	}
	if err := Vacant(taken); err == nil || !strings.Contains(
		err.Error(), "holds a checkpoint of step 3; -resume continues it",
	) {
		t.Errorf("not vacant: got %v", err)
	}
	if err := Vacant(filepath.Join(empty, "new")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("Vacant left %v, %v", left, err)
	}
	if _, err := Begin(taken); err == nil || !strings.Contains(
		err.Error(), "holds a checkpoint of step 3; -resume continues it",
	) {
		t.Errorf("started again: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(taken, "step-00000003", "state"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(taken); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("started next to a damaged one: got %v", err)
	}
	if err := Vacant(taken); !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("next to a damaged one: got %v", err)
	}
	folder := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Vacant(folder); err == nil || !strings.Contains(
		err.Error(), "holds a published model; another -out_dir",
	) {
		t.Errorf("a folder: got %v", err)
	}
	if _, _, err := (Kind{}).Resume(folder, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "no run to resume") {
		t.Errorf("a folder resumed: got %v", err)
	}
	dir, err := Begin(empty)
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()
}
