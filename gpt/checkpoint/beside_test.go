package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// summed returns a file beside the checkpoints with the sums of the others.
func summed() File {
	f := text("certificate", "sums of their own")
	f.Last = func(w io.Writer, sums map[string]string) error {
		_, err := fmt.Fprintf(w, "%d sums, weights %s", len(sums), sums["weights"])
		return err
	}
	f.Beside = true
	return f
}

// A file with Last gets the sums that the manifest has, whatever its name. A file with Beside is in the directory, too.
func TestLastAndBeside(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	defer d.Close()
	for step := range 3 {
		if err := d.Save(step, append(state(step, 1), summed())); err != nil {
			t.Fatal(err)
		}
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := "2 sums, weights " + c.SHA256("weights")
		inside, err := c.File("certificate")
		if err != nil || len(want) != 80 || string(inside) != want {
			t.Errorf("step %d: got %q, %v, want %q", step, inside, err, want)
		}
		if copied, err := os.ReadFile(filepath.Join(path, "certificate")); err != nil || string(copied) != want {
			t.Errorf("step %d: got %q, %v beside, want %q", step, copied, err, want)
		}
		if sum := c.SHA256("nothing"); sum != "" {
			t.Errorf("got %q for a file that is not there", sum)
		}
		c.Close()
	}
	wantNames(t, path, "certificate", stepName(1), stepName(2))
	if sum := (*Checkpoint)(nil).SHA256("weights"); sum != "" {
		t.Errorf("got %q without a checkpoint", sum)
	}
	broken := summed()
	broken.Last = func(io.Writer, map[string]string) error { return syscall.EIO }
	if err := d.Save(3, append(state(3, 1), broken)); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
}

// Each operation of a Save with a file beside the checkpoints fails. The file is the old or the new one, complete, and
// never older than the newest checkpoint.
func TestFaultBeside(t *testing.T) {
	count := &faultyDisk{at: never}
	run := func(disk *faultyDisk) (path string, err error) {
		path = t.TempDir()
		d := open(t, path)
		defer d.Close()
		d.disk = &faultyDisk{at: never}
		if err := d.Save(1, append(state(1, 1), summed())); err != nil {
			t.Fatal(err)
		}
		d.disk = disk
		return path, d.Save(2, append(state(2, 1), summed()))
	}
	if _, err := run(count); err != nil {
		t.Fatal(err)
	}
	newer := 0
	for at := range never - count.at {
		path, err := run(&faultyDisk{at: at, err: syscall.EIO})
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("operation %d: got %v", at, err)
		}
		c, err := Load(path)
		if err != nil {
			t.Fatalf("operation %d: %v", at, err)
		}
		copied, err := os.ReadFile(filepath.Join(path, "certificate"))
		if err != nil || !strings.HasPrefix(string(copied), "2 sums, weights ") || len(copied) != 80 {
			t.Errorf("operation %d: got %q, %v", at, copied, err)
		}
		switch inside, err := c.File("certificate"); {
		case err != nil:
			t.Errorf("operation %d: %v", at, err)
		case string(inside) != string(copied) && c.Step == 2:
			t.Errorf("operation %d: got an older file than the checkpoint of step 2", at)
		case string(inside) != string(copied):
			newer++
		}
		c.Close()
	}
	if newer == 0 {
		t.Error("no Save ended between the two renames")
	}
}
