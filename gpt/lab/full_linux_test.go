package lab

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
)

// A study whose disk is full ends with an error that names the file, and loses nothing: with space again, it continues
// from what it has.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=96k"); err != nil {
		t.Skipf("a small disk needs the right to mount: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	want, _ := all(t, tiny(t, t.TempDir()))
	s := tiny(t, dir)
	ballast := filepath.Join(dir, "ballast")
	var done []*Trial
	for trial, err := range s.Run(t.Context()) {
		if err != nil {
			if !errors.Is(err, syscall.ENOSPC) || !filepath.IsAbs(path(err)) {
				t.Fatalf("got %v, want the full disk and the file", err)
			}
			break
		}
		if done = append(done, trial); len(done) == 2 {
			fill(t, ballast)
		}
	}
	if len(done) < 2 || len(done) == len(want) {
		t.Fatalf("got %d of %d trials on a disk that is full after two", len(done), len(want))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	got, reused := all(t, s)
	if diff := cmp.Diff(results(want), results(got)); diff != "" || reused != len(done) {
		t.Errorf("%d of the %d results before the disk was full are reused\n%s", reused, len(done), diff)
	}
}

// path returns the file of which an error of the system speaks.
func path(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Path
	}
	return ""
}

// fill writes a file until its disk is full.
func fill(t *testing.T, name string) {
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 1<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
