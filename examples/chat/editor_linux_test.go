package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// In a terminal a message is edited while it is typed, and the answer is written in lines. Ctrl-C twice ends the
// program and leaves the terminal unchanged.
func TestTyped(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	defer screen.Close()
	err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	n, err2 := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil || err2 != nil {
		t.Skip("no pseudo-terminal can be opened here: ", err, err2)
	}
	keyboard, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal can be opened here: ", err)
	}
	defer keyboard.Close()
	before, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	must(t, err)
	dir := made(t)
	done := make(chan error, 1)
	go func() {
		args := []string{"-model", dir, "-template", "chatml", "-tokens", "5", "-seed", "3", "-block_size", "200"}
		done <- inputs{stdin: keyboard}.run(t.Context(), args, keyboard, io.Discard)
	}()
	seen := ""
	wants := func(want string) {
		t.Helper()
		late := time.Now().Add(20 * time.Second)
		for piece := make([]byte, 1<<12); !strings.Contains(seen, want); {
			if screen.SetReadDeadline(late); time.Now().After(late) {
				t.Fatalf("got %q, want %q in it", seen, want)
			}
			n, err := screen.Read(piece)
			if seen += string(piece[:n]); err != nil {
				t.Fatalf("got %q and %v, want %q in it", seen, err, want)
			}
		}
		_, seen, _ = strings.Cut(seen, want)
	}
	wants("/help lists the commands\r\n> ")
	io.WriteString(screen, "/hel\x1b[D\x1b[D\x1b[D\x1b[C\x1b[C\x1b[Cp\r")
	wants("begins a new conversation\r\n")
	wants("> ")
	answer := says(t, "Hi\n", "-model", dir, "-template", "chatml", "-tokens", "5", "-seed", "3")
	io.WriteString(screen, "Hi\r")
	wants(strings.ReplaceAll(answer, "\n", "\r\n"))
	wants("> ")
	io.WriteString(screen, "not sent\x03")
	wants("Ctrl-C again ends the program\r\n")
	wants("> ") // from here on the program reads Ctrl-C; before, the terminal makes it a signal
	io.WriteString(screen, "\x03")
	select {
	case err := <-done:
		if err == nil || err.Error() != "interrupt" {
			t.Errorf("got error %v, want an interrupt", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the program has not ended")
	}
	after, err := unix.IoctlGetTermios(int(keyboard.Fd()), unix.TCGETS)
	must(t, err)
	if *after != *before {
		t.Errorf("the terminal is %+v, was %+v", after, before)
	}
}
