//go:build unix

package live

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestFewDescriptors checks that a process that may open 32 files still opens eight while 100 connections are
// requested.
func TestFewDescriptors(t *testing.T) {
	const mark = "PEDESTRIAN_FEW_DESCRIPTORS"
	if os.Getenv(mark) != "" {
		serveWithFew(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFewDescriptors$")
	cmd.Env = append(os.Environ(), mark+"=1")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	defer cmd.Wait()
	defer in.Close()
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "http://") {
		t.Fatalf("got %q, want an address", lines.Text())
	}
	address := strings.TrimSuffix(strings.TrimPrefix(lines.Text(), "http://"), "/")
	for range 100 {
		c, err := net.Dial("tcp", address)
		must(t, err)
		defer c.Close()
	}
	_, err = io.WriteString(in, "open\n")
	must(t, err)
	if lines.Scan(); lines.Text() != "opened" {
		t.Errorf("got %q, want files opened despite 100 connections", lines.Text())
	}
}

// serveWithFew serves, prints the address, and opens files on request.
func serveWithFew(t *testing.T) {
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 32, Max: 32}))
	s := listen(t, t.TempDir())
	fmt.Println(s.URL)
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	for range 8 {
		f, err := os.Open(os.Args[0])
		if err != nil {
			fmt.Println(err)
			return
		}
		defer f.Close()
	}
	fmt.Println("opened")
	in.Scan()
}
