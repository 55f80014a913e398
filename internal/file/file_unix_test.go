//go:build unix

package file

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
)

// A FIFO, a socket, a device, and links to them are refused by every function at once, with their path and kind.
// Opening the FIFO would block forever, and so would this test.
func TestIrregularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no FIFO here:", err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for path, kind := range map[string]string{
		fifo: "a FIFO", socket: "a socket", "/dev/null": "a device", "/dev/zero": "a device",
	} {
		link := filepath.Join(dir, "link to "+filepath.Base(path))
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		for name, open := range openers() {
			want := path + ": is " + kind + ", want a regular file"
			if err := open(path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
			if name == "OpenLock" || name == "Create" {
				kind = "a symbolic link"
			}
			want = link + ": is " + kind
			if err := open(link); err == nil || !strings.Contains(err.Error(), want) &&
				!strings.Contains(err.Error(), "file exists") {
				t.Errorf("%s: got %v, want %s", name, err, want)
			}
			kind = Kind(modeOf(t, path))
		}
		if _, err := (Directory(dir)).Open(filepath.Base(link)); err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("Directory: got %v", err)
		}
	}
	// Between the check and the opening, a FIFO may have replaced the file.
	if _, err := openUnseen(fifo, os.O_RDONLY, 0); err == nil || !strings.Contains(err.Error(), fifo+": is a FIFO") {
		t.Errorf("got %v", err)
	}
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

// A FIFO stays, whatever its name.
func TestSweepLeavesFIFOs(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "x-1"), 0o600); err != nil {
		t.Skip("no FIFO here:", err)
	}
	if Sweep(dir, "x-", isNumber); len(names(t, dir)) != 1 {
		t.Error("the FIFO is gone")
	}
}

// Errors of the system are returned.
func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := SyncDir(dir); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]error{
		filepath.Join(dir, "nowhere"):           syscall.ENOENT,
		put(t, filepath.Join(dir, "file"), "x"): syscall.ENOTDIR,
	} {
		if err := SyncDir(path); locks && !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
	if err := SyncDir("/proc"); runtime.GOOS == "linux" && err == nil {
		t.Error("/proc is on a disk")
	}
	f, err := Open(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Close(); lock(f) == nil && locks {
		t.Error("a closed file is locked")
	}
}

// No function leaves a file open, with an error or without.
func TestNothingStaysOpen(t *testing.T) {
	const list = "/proc/self/fd"
	if _, err := os.Stat(list); err != nil {
		t.Skip("this system does not list open files: ", err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the collector would close them
	dir := t.TempDir()
	good, fifo := put(t, filepath.Join(dir, "good"), "a text"), filepath.Join(dir, "fifo")
	nul := put(t, filepath.Join(dir, "nul"), "a\x00")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	write := func(err error) func(io.Writer) error { return func(io.Writer) error { return err } }
	for name, f := range map[string]func(){
		"Read":               func() { Read(good, 9) },
		"Read too much":      func() { Read(good, 2) },
		"ReadText":           func() { ReadText(good, 9) },
		"ReadText of NUL":    func() { ReadText(nul, 9) },
		"openUnseen":         func() { openUnseen(fifo, os.O_RDONLY, 0) },
		"Replace":            func() { Replace(filepath.Join(dir, "new"), write(nil)) },
		"Replace by half":    func() { Replace(filepath.Join(dir, "new"), write(fs.ErrClosed)) },
		"Replace a FIFO":     func() { Replace(fifo, write(nil)) },
		"Sweep":              func() { put(t, filepath.Join(dir, "x-1"), ""); Sweep(dir, "x-", isNumber) },
		"OpenLock of a FIFO": func() { OpenLock(fifo) },
		"OpenLock twice": func() {
			f, err := OpenLock(good)
			if err != nil {
				t.Fatal(err)
			}
			OpenLock(good)
			f.Close()
		},
		"Hold twice": func() {
			f, err := Hold(good)
			if err != nil {
				t.Fatal(err)
			}
			Hold(good)
			f.Close()
		},
	} {
		before := len(names(t, list))
		f()
		if after := len(names(t, list)); after != before {
			t.Errorf("%s: %d open files, then %d", name, before, after)
		}
	}
}
