package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/errors"
)

// childVariable marks the process that is to be killed, and holds the path into which it saves.
const childVariable = "CHECKPOINT_TEST_CHILD"

// big returns the state that the child saves: a megabyte that depends only on the step.
func big(step int) []byte {
	sum := sha256.Sum256(fmt.Append(nil, step))
	return bytes.Repeat(sum[:], 1<<15)
}

func content(name string, b []byte) File {
	return File{Name: name, Write: func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}}
}

// saveUntilKilled continues from the last checkpoint, two saves of every step, and writes each step it has saved to
// standard output.
func saveUntilKilled(path string) error {
	d, err := Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	step := 0
	switch c, err := Load(path); {
	case err == nil:
		step = c.Step
	case !errors.Is(err, ErrNone):
		return err
	}
	for i := 0; ; i++ {
		step += i % 2
		files := []File{content("weights", big(step)), content("state", fmt.Append(nil, step))}
		if err := d.Save(step, files); err != nil {
			return err
		}
		fmt.Println("saved", step)
	}
}

// TestKillDuringSave kills a process that only saves. After each kill the directory must load, without damage, a step
// at least as late as the last one that the process reported.
func TestKillDuringSave(t *testing.T) {
	if path := os.Getenv(childVariable); path != "" {
		t.Fatal(saveUntilKilled(path))
	}
	path := t.TempDir()
	kills, unfinished, step := 20, 0, 0
	switch {
	case testing.Short():
		kills = 4
	case os.Getenv("NIGHTLY") != "":
		kills = 500
	}
	for range kills {
		step = max(step, killChild(t, path))
		names, err := osDisk{}.list(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(names, " "), tmpPrefix) {
			unfinished++
		}
		c, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Refused) > 0 {
			t.Errorf("torn: %v", c.Refused)
		}
		if c.Step < step {
			t.Errorf("lost: step %d was saved, got step %d", step, c.Step)
		}
		weights, err := c.File("weights")
		if err != nil || !bytes.Equal(weights, big(c.Step)) {
			t.Errorf("step %d holds other weights (%v)", c.Step, err)
		}
	}
	t.Logf("%d kills, %d of them in the middle of writing, up to step %d", kills, unfinished, step)
	if unfinished == 0 && !testing.Short() {
		t.Error("no kill fell into a save: the test shows nothing")
	}
}

// killChild runs the child, kills it a moment after its first save, and returns the last step that it reported.
func killChild(t *testing.T, path string) int {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKillDuringSave$")
	cmd.Env = append(os.Environ(), childVariable+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last, lines := -1, bufio.NewScanner(out)
	for lines.Scan() {
		var step int
		if _, err := fmt.Sscanf(lines.Text(), "saved %d", &step); err != nil {
			t.Errorf("the child says %q", lines.Text())
			continue
		}
		if last < 0 {
			wait := time.Duration(rand.IntN(40_000)) * time.Microsecond
			time.AfterFunc(wait, func() { cmd.Process.Kill() })
		}
		last = step
	}
	cmd.Wait() // "signal: killed"
	if last < 0 {
		t.Fatal("the child saved nothing")
	}
	return last
}

// TestFileSizeLimit meets a limit of the system, in a separate process that may not write files larger than a kilobyte.
func TestFileSizeLimit(t *testing.T) {
	if path := os.Getenv(childVariable); path != "" {
		err := open(t, path).Save(2, []File{content("weights", big(2))})
		if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "weights") {
			t.Fatalf("got %v, want EFBIG", err)
		}
		return
	}
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("the limit on the size of files is set by a shell, and there is none")
	}
	path := t.TempDir()
	d := open(t, path)
	save(t, d, 1, 1)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(shell, "-c", `ulimit -f 1 && exec "$0" "$@"`, os.Args[0], "-test.run=^TestFileSizeLimit$")
	cmd.Env = append(os.Environ(), childVariable+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantLoad(t, path, 1, 1)
	wantNames(t, path, stepName(1))
}
