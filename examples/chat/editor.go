package main

import (
	"bytes"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/pkg/errors"
	"golang.org/x/term"
)

// errLong is the error of a line of which the end is missing.
var errLong = errors.Errorf("a typed message has at most %d characters; a longer one may come through a pipe",
	longestTyped-1)

// errInterrupted is the error of a line that Ctrl-C ended.
var errInterrupted = errors.New("interrupted")

// longestTyped is the largest number of characters of a line that package term reads: it leaves out what follows.
const longestTyped = 4096

// editor reads lines that somebody types, with the keys of a shell: arrows, Home, End, Ctrl-A, -E, -K, -U and -W, and
// earlier lines by the arrows up and down (golang.org/x/term). The terminal is raw only while a line is typed, so that
// Ctrl-C ends an answer as it does elsewhere.
type editor struct {
	in          io.Reader
	out         io.Writer
	terminal    *term.Terminal
	keys        []byte // behind a Ctrl-C, which ends what the Terminal reads
	interrupted bool   // Ctrl-C has been read

	mutex  sync.Mutex
	file   *os.File // that becomes raw; nil for none
	before *term.State
	closed bool
}

const prompt = "> "

// newEditor returns an editor. The file of the terminal may be nil.
func newEditor(in io.Reader, out io.Writer, file *os.File) *editor {
	e := &editor{in: in, out: out, file: file}
	e.terminal = term.NewTerminal(e, prompt)
	return e
}

// Read reads keys for the Terminal.
func (e *editor) Read(p []byte) (int, error) {
	n, err := copy(p, e.keys), error(nil)
	if e.keys = e.keys[n:]; n == 0 {
		n, err = e.in.Read(p)
	}
	if i := bytes.IndexByte(p[:n], 3); i >= 0 {
		e.interrupted, e.keys = true, append(bytes.Clone(p[i+1:n]), e.keys...)
		return i + 1, nil
	}
	return n, err
}

// Write writes what the Terminal draws.
func (e *editor) Write(p []byte) (int, error) { return e.out.Write(p) }

// line reads a line. Its error is io.EOF at the end of the input, and errInterrupted after Ctrl-C, which drops it.
func (e *editor) line() (string, error) {
	if err := e.raw(); err != nil {
		return "", err
	}
	defer e.restore()
	s, err := e.terminal.ReadLine()
	switch {
	case err == io.EOF && e.interrupted:
		history := e.terminal.History
		e.terminal, e.interrupted = term.NewTerminal(e, prompt), false
		e.terminal.History = history
		return "", errInterrupted
	case err == nil && utf8.RuneCountInString(s) >= longestTyped:
		return "", errLong
	}
	return s, err
}

// raw passes all keys on, unless the editor is closed.
func (e *editor) raw() (err error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.file == nil || e.closed {
		return nil
	}
	fd := int(e.file.Fd())
	if width, height, err := term.GetSize(fd); err == nil && width > 0 {
		e.terminal.SetSize(width, height)
	}
	e.before, err = term.MakeRaw(fd)
	return errors.Wrap(err, "terminal")
}

// restore undoes raw.
func (e *editor) restore() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.before != nil {
		term.Restore(int(e.file.Fd()), e.before)
		e.before = nil
	}
}

// close restores the terminal for good.
func (e *editor) close() {
	e.restore()
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.closed = true
}
