package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The times without output after which a program says what it is doing: on a terminal every second from the first on,
// elsewhere in lines whose distance doubles.
const (
	quiet     = 1800 * time.Millisecond
	mostQuiet = 30 * time.Second
)

// watch follows the output of a program. After a silence it writes a line that names the present task.
type watch struct {
	name   string
	stderr *os.File
	same   bool // stdout and stderr are one file
	width  func() int

	mutex  sync.Mutex
	last   time.Time     // of the output of the program
	told   time.Time     // of the last sign of life
	pause  time.Duration // until the next one, elsewhere than on a terminal
	drawn  int           // columns of the status that a terminal shows
	what   string        // that the program is doing; "" if it has not said so
	column int           // of the cursor
	bar    bool          // the last line is one that is rewritten
	idle   int           // Waiting is in force
}

// watched is stdout or stderr of a program under a watch.
type watched struct {
	*os.File
	watch *watch
}

// newWatch returns a watch of a program that writes to stdout and stderr, and writers in place of these.
func newWatch(name string, stdout, stderr *os.File) (w *watch, out, complaints io.Writer) {
	w = &watch{name: name, stderr: stderr, width: func() int { return columns(stderr) }, pause: quiet}
	w.last = time.Now()
	w.told = w.last
	a, err := stdout.Stat()
	b, err2 := stderr.Stat()
	w.same = err == nil && err2 == nil && os.SameFile(a, b)
	return w, watched{stdout, w}, watched{stderr, w}
}

// behind returns the file behind a writer of a watch, or the writer itself.
func behind(out any) any {
	if w, ok := out.(watched); ok {
		return w.File
	}
	return out
}

// Doing tells the watch of Main, if out is a writer of it, what the program does from now on, such as "loading out": it
// says so if the program is silent for two seconds. The next line of output ends it, or done, which returns to what the
// program did before.
func Doing(out io.Writer, what string) (done func()) {
	w, ok := out.(watched)
	if !ok {
		return func() {}
	}
	set := func(what string) (before string) {
		w.watch.mutex.Lock()
		defer w.watch.mutex.Unlock()
		before, w.watch.what = w.watch.what, what
		return before
	}
	before := set(what)
	return func() { set(before) }
}

// Waiting tells the watch of Main, if out is a writer of it, that the program waits for somebody until resume is
// called, so that it is not expected to say anything.
func Waiting(out io.Writer) (resume func()) {
	w, ok := out.(watched)
	if !ok {
		return func() {}
	}
	count := func(n int) {
		w.watch.mutex.Lock()
		defer w.watch.mutex.Unlock()
		w.watch.hide()
		w.watch.idle += n
		w.watch.begin(time.Now())
	}
	count(1)
	return sync.OnceFunc(func() { count(-1) })
}

// Write removes what the watch has drawn, and writes.
func (w watched) Write(data []byte) (int, error) {
	w.watch.mutex.Lock()
	defer w.watch.mutex.Unlock()
	w.watch.hide()
	if bytes.IndexByte(data, '\n') >= 0 {
		w.watch.what = ""
	}
	if w.watch.same || w.File == w.watch.stderr {
		w.watch.see(data)
	}
	w.watch.begin(time.Now())
	return w.File.Write(data)
}

// see follows the cursor on stderr.
func (w *watch) see(data []byte) {
	if at := bytes.LastIndexAny(data, "\r\n"); at >= 0 {
		w.bar, w.column, data = data[at] == '\r', 0, data[at+1:]
	}
	w.column += utf8.RuneCount(data)
}

// begin begins a silence.
func (w *watch) begin(now time.Time) { w.last, w.told, w.pause = now, now, quiet }

// hide removes the status from a terminal.
func (w *watch) hide() {
	switch {
	case w.drawn == 0:
	case w.bar || w.column == 0:
		fmt.Fprint(w.stderr, "\r", strings.Repeat(" ", w.drawn), "\r")
		w.bar, w.column = false, 0
	default:
		fmt.Fprint(w.stderr, strings.Repeat("\b", w.drawn), strings.Repeat(" ", w.drawn), strings.Repeat("\b", w.drawn))
	}
	w.drawn = 0
}

// look says what the program is doing if that is due.
func (w *watch) look(now time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	silence := now.Sub(w.last)
	if w.idle > 0 || silence < quiet {
		return
	}
	width := w.width()
	if width == 0 {
		if now.Sub(w.told) >= w.pause && !(w.same && w.column > 0) {
			w.told, w.pause = now, min(2*w.pause, mostQuiet)
			fmt.Fprintf(w.stderr, "%s: %s\n", w.name, w.status(silence))
		}
		return
	}
	if now.Sub(w.told) < time.Second {
		return
	}
	w.told = now
	w.hide()
	status := []rune(w.status(silence))
	if w.column > 0 && !w.bar { // behind a text
		status = []rune(fmt.Sprintf(" (%s)", seconds(silence)))
		if w.column%width+len(status) >= width {
			return
		}
	}
	status = status[:min(len(status), width-1)]
	if w.bar || w.column == 0 {
		fmt.Fprint(w.stderr, "\r", string(status), strings.Repeat(" ", width-1-len(status)))
		w.drawn, w.bar, w.column = width-1, true, width-1
		return
	}
	fmt.Fprint(w.stderr, string(status))
	w.drawn = len(status)
}

// status says what the program is doing, and for how long it has been silent.
func (w *watch) status(silence time.Duration) string {
	if w.what == "" {
		return "at work, " + seconds(silence)
	}
	return w.what + ", " + seconds(silence)
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

// run looks until the returned function is called.
func (w *watch) run() (stop func()) {
	ticker, ended := time.NewTicker(200*time.Millisecond), make(chan struct{})
	go func() {
		for {
			select {
			case now := <-ticker.C:
				w.look(now)
			case <-ended:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.hide()
		w.idle++
	}
}
