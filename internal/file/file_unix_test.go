//go:build unix

package file

import (
	"net"
	"os"
	"path/filepath"
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
	for path, kind := range map[string]string{fifo: "a FIFO", socket: "a socket", "/dev/null": "a device", "/dev/zero": "a device"} {
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
			if err := open(link); err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "file exists") {
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
