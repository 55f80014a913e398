package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// openTerminal returns a new pseudo-terminal, whose second half is for the program.
func openTerminal(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	n, err2 := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil || err2 != nil {
		t.Skip("no pseudo-terminal can be opened here: ", err, err2)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminal can be opened here: ", err)
	}
	return screen, program
}

func setColumns(t *testing.T, screen *os.File, columns int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(
		int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)},
	); err != nil {
		t.Fatal(err)
	}
}

// terminal models a terminal in which a program draws its progress: the row of the cursor, and the lines above it.
type terminal struct {
	sizes   []int // columns, as the window is resized
	at      int   // of the sizes
	drawn   int   // times in that size
	shown   []rune
	written []rune // since the cursor went back to the first column
	lines   []string
	wrong   []string
}

// write interprets the program's output, which must not end within a character or between CR and LF.
func (w *terminal) write(text string) {
	for i, c := range text {
		switch {
		case c == '\n': // the cursor went back before
		case c != '\r':
			if w.written = append(w.written, c); len(w.written) > len(w.shown) {
				w.shown = append(w.shown, c)
			}
			w.shown[len(w.written)-1] = c
		case strings.HasPrefix(text[i+1:], "\n"): // a line that stays, which may wrap
			line := string(w.written)
			if got := strings.TrimRight(string(w.shown), " "); got != line {
				w.wrong = append(w.wrong, fmt.Sprintf("the line %q is shown as %q", line, got))
			}
			w.lines, w.written, w.shown = append(w.lines, line), nil, nil
		case len(w.written) > 0:
			w.progress(string(w.written))
			w.written = nil
		}
	}
}

// progress matches a drawing that is overwritten by another, or blanks that remove one.
func (w *terminal) progress(line string) {
	width := utf8.RuneCountInString(line)
	if w.at < len(w.sizes)-1 && width == w.sizes[w.at+1]-1 {
		w.at, w.drawn = w.at+1, 0
		w.shown = w.shown[:min(len(w.shown), width)] // what a window that became narrower has cut
	}
	w.drawn++
	columns := w.sizes[w.at]
	if width != columns-1 {
		w.wrong = append(w.wrong, fmt.Sprintf("%d characters in %d columns, want one less: %q", width, columns, line))
	}
	if strings.TrimSpace(line) == "" {
		return
	}
	if strings.Count(line, "eta ") != 1 || strings.HasPrefix(line, "|") != (columns >= 60) ||
		strings.Contains(line, " | loss ") != (columns >= 60) {
		w.wrong = append(
			w.wrong,
			fmt.Sprintf("in %d columns: %q, want one eta, and the bar and the loss from 60 columns up", columns, line),
		)
	}
}

// In a terminal that is resized repeatedly the progress is one line of its width, with one remaining time, and nothing
// of it remains when another line is written.
func TestTerminal(t *testing.T) {
	screen, slave := openTerminal(t)
	w := terminal{sizes: []int{200, 80, 40, 60}}
	setColumns(t, screen, w.sizes[0])
	long := "100000000" // so that 40 columns have no room for the loss
	cmd := exec.Command(
		os.Args[0],
		small(
			t, t.TempDir(), "-max_iters", long, "-lr_decay_iters", long, "-eval_interval", "20000", "-threads", "1",
		)...,
	)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	defer time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }).Stop()
	var rest []byte
	for asked, part := 0, make([]byte, 1<<16); ; {
		n, err := screen.Read(part)
		if err != nil { // the program has ended
			break
		}
		rest = append(rest, part[:n]...)
		whole := len(rest)
		for whole > 0 && (rest[whole-1] == '\r' || !utf8.Valid(rest[:whole])) { // what comes next belongs to it
			whole--
		}
		w.write(string(rest[:whole]))
		rest = rest[whole:]
		if asked > w.at || w.drawn < 2 {
			continue
		}
		if asked++; asked < len(w.sizes) {
			setColumns(t, screen, w.sizes[asked])
		} else {
			cmd.Process.Signal(syscall.SIGINT)
		}
	}
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 130 || w.at != len(w.sizes)-1 {
		t.Errorf("exit status %d, want 130, after %d of %d sizes of the window", got, w.at+1, len(w.sizes))
	}
	for _, what := range w.wrong {
		t.Error(what)
	}
	if all := strings.Join(w.lines, "\n"); !strings.Contains(all, "\nstep 0: train loss ") ||
		!strings.Contains(all, "saved at step ") {
		t.Errorf("the lines that stay:\n%s", all)
	}
}
