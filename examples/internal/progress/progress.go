// Package progress tells how far an example is and how long it will take: a bar on a terminal, elsewhere a line every few
// seconds.
package progress

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar counts towards a total.
type Bar struct {
	out         io.Writer
	bar         *progressbar.ProgressBar // nil where out is no terminal
	what        string
	done, total int
	start, last time.Time
}

// pause lies between two lines where there is no terminal.
const pause = 5 * time.Second

// New is a bar of so many steps.
func New(out io.Writer, what string, total int) *Bar {
	b := &Bar{out: out, what: what, total: total, start: time.Now(), last: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20), progressbar.OptionShowCount(),
			progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetDescription(what))
	}
	return b
}

// Add counts n steps more; the text says where things stand.
func (b *Bar) Add(n int, format string, args ...any) {
	b.done += n
	text := fmt.Sprintf("%s: %s, eta %s", b.what, fmt.Sprintf(format, args...), b.eta())
	switch {
	case b.bar != nil:
		b.bar.Describe(text)
		b.bar.Set(b.done) // the terminal is only looked at: what cannot be drawn is no reason to stop
	case time.Since(b.last) >= pause:
		b.last = time.Now()
		fmt.Fprintf(b.out, "%d/%d %s\n", b.done, b.total, text)
	}
}

func (b *Bar) eta() time.Duration {
	if b.done == 0 {
		return 0
	}
	return time.Duration(float64(time.Since(b.start)) / float64(b.done) * float64(b.total-b.done)).Round(time.Second)
}

// Print writes a line, above the bar if there is one.
func (b *Bar) Print(format string, args ...any) {
	b.Close()
	fmt.Fprintf(b.out, format+"\n", args...)
}

// Close takes the bar away.
func (b *Bar) Close() {
	if b.bar != nil {
		b.bar.Clear()
	}
}
