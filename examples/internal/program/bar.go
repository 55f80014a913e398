package program

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// pause lies between two lines where there is no terminal.
const pause = 5 * time.Second

// Bar tells how far a program is and how long the rest will take: a bar on a terminal, elsewhere a line every few
// seconds.
type Bar struct {
	out               io.Writer
	bar               *progressbar.ProgressBar // nil where out is no terminal
	what              string
	begin, now, total int // steps
	start, last       time.Time
}

// NewBar counts from begin, where a run is resumed, to total.
func NewBar(out io.Writer, what string, begin, total int) *Bar {
	b := &Bar{out: out, what: what, begin: begin, now: begin, total: total, start: time.Now(), last: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(20),
			progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(), progressbar.OptionSetDescription(what),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	return b
}

// Add counts n steps more; the text says where things stand.
func (b *Bar) Add(n int, format string, args ...any) {
	b.now += n
	text := fmt.Sprintf("%s: %s, eta %s", b.what, fmt.Sprintf(format, args...), b.ETA(b.now))
	if !b.Draw(b.now, text) && time.Since(b.last) >= pause {
		b.last = time.Now()
		fmt.Fprintf(b.out, "%d/%d %s\n", b.now, b.total, text)
	}
}

// Write counts the bytes of a download.
func (b *Bar) Write(data []byte) (int, error) {
	b.Add(len(data), "downloading")
	return len(data), nil
}

// Draw sets the bar to step, with a text beside it; without a terminal it does nothing and returns false.
func (b *Bar) Draw(step int, text string) bool {
	if b.bar == nil {
		return false
	}
	b.bar.Describe(text)
	b.bar.Set(step) // what cannot be drawn is no reason to stop
	return true
}

// ETA is the time that the steps behind step will take, if they are as fast as those since begin.
func (b *Bar) ETA(step int) time.Duration {
	done := max(1, step-b.begin)
	return time.Duration(float64(time.Since(b.start)) / float64(done) * float64(b.total-step)).Round(time.Second)
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
