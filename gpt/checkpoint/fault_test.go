package checkpoint

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// faultyDisk is the real disk until operation number at, which fails. It flushes nothing, because that takes time and
// does not change what is read.
type faultyDisk struct {
	osDisk
	at      int // counts down
	err     error
	forever bool // and so does every one after it
}

// fault counts one operation.
func (d *faultyDisk) fault() error {
	d.at--
	if d.at == -1 || (d.at < 0 && d.forever) {
		return d.err
	}
	return nil
}

func (d *faultyDisk) list(dir string) ([]string, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	return d.osDisk.list(dir)
}

func (d *faultyDisk) mkdir(dir string) error {
	if err := d.fault(); err != nil {
		return err
	}
	return d.osDisk.mkdir(dir)
}

func (d *faultyDisk) create(path string) (writable, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	f, err := d.osDisk.create(path)
	return faultyFile{f, d}, err
}

func (d *faultyDisk) open(path string) (io.ReadCloser, error) {
	if err := d.fault(); err != nil {
		return nil, err
	}
	return d.osDisk.open(path)
}

func (d *faultyDisk) rename(from, to string) error {
	if err := d.fault(); err != nil {
		return err
	}
	return d.osDisk.rename(from, to)
}

// removeAll fails half way: it removes one file but not the others.
func (d *faultyDisk) removeAll(path string) error {
	if err := d.fault(); err != nil {
		d.osDisk.removeAll(filepath.Join(path, manifestName))
		return err
	}
	return d.osDisk.removeAll(path)
}

func (d *faultyDisk) syncDir(string) error { return d.fault() }

type faultyFile struct {
	writable
	disk *faultyDisk
}

// Write fails half way.
func (f faultyFile) Write(p []byte) (int, error) {
	if err := f.disk.fault(); err != nil {
		n, _ := f.writable.Write(p[:len(p)/2])
		return n, err
	}
	return f.writable.Write(p)
}

func (f faultyFile) Sync() error { return f.disk.fault() }

func (f faultyFile) Close() error {
	err := f.writable.Close()
	if e := f.disk.fault(); e != nil {
		return e
	}
	return err
}

// TestFaultAtEveryOp makes each operation of a Save fail in each way, once, or with all that follow. Save must return
// an error, and the earlier checkpoint must still load. If the disk recovers, nothing unfinished may be left, and the
// next Save must work. By day every third operation meets the second kind of failure.
func TestFaultAtEveryOp(t *testing.T) {
	faults := []syscall.Errno{syscall.EROFS}
	if !testing.Short() {
		faults = append(faults, syscall.ENOSPC)
	}
	nightly := os.Getenv("NIGHTLY") != ""
	if nightly {
		faults = append(faults, syscall.EFBIG, syscall.EACCES, syscall.EIO)
	}
	for _, saved := range []struct {
		step   int // a new one, or one that is there already
		backup bool
	}{{3, false}, {2, false}, {2, true}} {
		step, twoSaved := saved.step, twoSaved
		if saved.backup {
			twoSaved = twoSavedAndBackup
		}
		count := &faultyDisk{at: never}
		d, _ := twoSaved(t)
		d.disk = count
		save(t, d, step, 2)
		ops := never - count.at
		if ops < 20 {
			t.Errorf("a save has %d operations, want at least 20", ops)
		}
		for at := range ops {
			for _, errno := range faults {
				if errno != syscall.EROFS && !nightly && at%3 > 0 {
					continue
				}
				failOnce(t, twoSaved, step, &faultyDisk{at: at, err: errno})
				// a disk that has become read-only stays so
				if errno == syscall.EROFS && !(saved.backup && testing.Short()) {
					failOnce(t, twoSaved, step, &faultyDisk{at: at, err: errno, forever: true})
				}
			}
		}
		t.Logf("saving step %d: %d operations, %d ways each", step, ops, len(faults)+1)
	}
}

// never is the number of an operation that does not occur.
const never = 1 << 30

// twoSaved returns a directory with steps 1 and 2.
func twoSaved(t *testing.T) (*Dir, string) {
	t.Helper()
	path := t.TempDir()
	d := open(t, path)
	d.disk = &faultyDisk{at: never}
	save(t, d, 1, 1)
	save(t, d, 2, 1)
	return d, path
}

// twoSavedAndBackup returns such a directory in which an earlier save of step 2 ended between its two renames.
func twoSavedAndBackup(t *testing.T) (*Dir, string) {
	t.Helper()
	d, path := twoSaved(t)
	newest := filepath.Join(path, stepName(2))
	if err := os.CopyFS(newest+backupSuffix, os.DirFS(newest)); err != nil {
		t.Fatal(err)
	}
	return d, path
}

func failOnce(t *testing.T, twoSaved func(*testing.T) (*Dir, string), step int, disk *faultyDisk) {
	t.Helper()
	d, path := twoSaved(t)
	at := disk.at
	d.disk = disk
	err := d.Save(step, state(step, 2))
	if !errors.Is(err, disk.err) || !strings.Contains(err.Error(), path) {
		t.Errorf("operation %d, %v: got %v", at, disk.err, err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatalf("operation %d, %v: %v", at, disk.err, err)
	}
	attempt, err := attemptOf(c)
	isOld, isNew := c.Step == 2 && attempt == 1, c.Step == step && attempt == 2
	if err != nil || !(isOld || isNew) || len(c.Refused) > 0 {
		t.Errorf("operation %d, %v: step %d, attempt %d, %v, %v", at, disk.err, c.Step, attempt, c.Refused, err)
	}
	if step != 2 { // the one before is there as well
		wantLoad(t, filepath.Join(path, stepName(2)), 2, 1)
	}
	if !disk.forever {
		names, err := osDisk{}.list(path)
		if err != nil {
			t.Fatal(err)
		}
		if left := strings.Join(names, " "); strings.Contains(left, tmpPrefix) || strings.Contains(left, trashPrefix) {
			t.Errorf("operation %d, %v: left %s", at, disk.err, left)
		}
		if !slices.Contains(names, stepName(2)) {
			t.Errorf("operation %d, %v: step 2 is left as a backup: %s", at, disk.err, names)
		}
	}
	d.disk = &faultyDisk{at: never} // the disk has recovered
	save(t, d, step, 3)
	wantLoad(t, path, step, 3)
	if step == 3 {
		wantNames(t, path, stepName(2), stepName(3))
	} else {
		wantNames(t, path, stepName(1), stepName(2))
	}
	d.Close()
}

// The error of any operation of writing a folder is returned, and until the last one there is no folder.
func TestFaultAtEveryOpOfAFolder(t *testing.T) {
	for _, empty := range []bool{false, true} {
		fill := func(at int) (path string, ops int, err error) {
			disk := &faultyDisk{at: at, err: syscall.EIO}
			d := &Dir{path: t.TempDir(), disk: disk, mark: newMark()}
			path = d.join("model")
			if empty {
				if err := os.Mkdir(path, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			err = d.fill(
				d.temporary(tmpPrefix, "model"), path, []File{text("config.json", "{}"), text("b", "of b")}, empty,
			)
			return path, at - disk.at, err
		}
		path, ops, err := fill(never)
		if err != nil || ops < 12 {
			t.Fatalf("got %d operations, %v, want at least 12", ops, err)
		}
		holder, err := file.Hold(path)
		if err != nil {
			t.Fatalf("still held after it has been written: %v", err)
		}
		holder.Close()
		for at := range ops {
			path, _, err := fill(at)
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("operation %d: got %v", at, err)
			}
			if _, err := os.Stat(filepath.Join(path, "b")); (err == nil) != (at == ops-1) {
				t.Errorf("operation %d of %d: the folder is complete: %t", at, ops, err == nil)
			}
		}
	}
}
