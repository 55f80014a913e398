// Package browser opens pages in a headless Chromium, for tests. Start with Open.
package browser

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Tab is an open page in a headless Chromium, which is driven by the DevTools protocol over a pipe.
type Tab struct {
	Errors []string // errors and warnings on the console

	t       testing.TB
	in      io.Writer
	out     *os.File
	read    bytes.Buffer
	id      int
	session string
	loaded  bool
}

// Open starts a browser that ends with the test. It skips the test if no browser is installed or requested, because
// it takes seconds.
func Open(t testing.TB) *Tab {
	t.Helper()
	if os.Getenv("PEDESTRIAN_BROWSER") == "" {
		t.Skip("set PEDESTRIAN_BROWSER=1 to open the page in a browser, which takes seconds")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("chromium is not installed (Debian: apt-get install chromium)")
	}
	home, err := os.MkdirTemp("", "browser")
	must(t, err)
	theirIn, in, err := os.Pipe()
	must(t, err)
	out, theirOut, err := os.Pipe()
	must(t, err)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir="+home)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // descriptors 3 and 4, from which it reads and to which it writes
	must(t, cmd.Start())
	theirIn.Close()
	theirOut.Close()
	b := &Tab{t: t, in: in, out: out}
	t.Cleanup(func() {
		in.Close() // ends the browser
		late := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		late.Stop()
		out.Close()
		os.RemoveAll(home)
	})
	var target struct{ TargetID, SessionID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
