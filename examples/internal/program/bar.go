package program

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Bar shows the progress of a program and the time that the rest will take: on a terminal in one line, which is
// rewritten and never wraps, elsewhere in about fifty lines, at least some seconds apart.
type Bar struct {
	// End is the time at which the program stops even if steps are left; zero means never.
	End time.Time

	out               io.Writer
	terminal          bool
	what              string
	begin, now, total int           // steps
	every             int           // steps between two lines
	pause             time.Duration // minimum between two lines
	start, last       time.Time     // last: of a line or a drawing
	drawn             bool
}

// NewBar returns a Bar that counts from begin, where a run is resumed, to total. what may be empty for a program's own
// steps.
func NewBar(out io.Writer, what string, begin, total int) *Bar {
	now := time.Now()
	b := &Bar{out: out, terminal: columns(out) > 0, what: what, begin: begin, now: begin, total: total,
		every: interval(total), pause: 5 * time.Second, start: now, last: now}
	b.say()
	return b
}

// Every makes b write a line after the given number of steps, however fast they are; 0 means about fifty lines.
func (b *Bar) Every(steps int) *Bar {
	if b.pause = 0; steps > 0 {
		b.every = steps
	}
	return b
}

// Of changes the number of steps until the end.
func (b *Bar) Of(total int) { b.total = total }

// interval returns the number of steps per line for at most fifty lines: 1, 2 or 5, 10, 20 or 50, and so on.
func interval(total int) int {
	for n := 1; ; n *= 10 {
		for _, by := range []int{1, 2, 5} {
			if total <= 50*n*by {
				return n * by
			}
		}
	}
}

// Add counts n more steps; the text describes the state.
func (b *Bar) Add(n int, format string, args ...any) { b.Draw(b.now+n, fmt.Sprintf(format, args...)) }

// Write counts the bytes of a download.
func (b *Bar) Write(data []byte) (int, error) {
	b.Draw(b.now + len(data))
	return len(data), nil
}

// Draw shows that the program is at a step, with further fields; a narrow terminal shows the first of these.
func (b *Bar) Draw(step int, fields ...string) {
	before, since := b.now, time.Since(b.last)
	b.now = step
	defer b.say() // after a line, which ends what was said before
	switch {
	case b.terminal:
		if b.drawn && since < 100*time.Millisecond { // faster than anyone can read
			return
		}
		fields = append([]string{b.count(b.what), "eta " + b.eta()}, fields...)
		fmt.Fprint(b.out, "\r", fit(columns(b.out)-1, float64(step)/float64(max(1, b.total)), fields))
		b.drawn = true
	case step/b.every > before/b.every && since >= b.pause:
		fields = append([]string{b.count(cmp.Or(b.what, "step"))}, fields...)
		fmt.Fprintln(b.out, strings.Join(append(fields, "eta "+b.eta()), " | "))
	default:
		return
	}
	b.last = time.Now()
}

// say tells the program's watch at which step it is.
func (b *Bar) say() { Doing(b.out, b.count(cmp.Or(b.what, "step"))) }

func (b *Bar) count(what string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d/%d", what, b.now, b.total))
}

// remaining returns the time that the remaining steps will take at the speed since begin.
func (b *Bar) remaining() time.Duration {
	done := max(1, b.now-b.begin)
	left := time.Duration(float64(time.Since(b.start)) / float64(done) * float64(max(0, b.total-b.now)))
	if !b.End.IsZero() {
		left = min(left, max(0, time.Until(b.End)))
	}
	return left
}

// eta returns the remaining time in seconds, or in minutes if it is hours.
func (b *Bar) eta() string {
	left := b.remaining()
	if left < time.Hour {
		return left.Round(time.Second).String()
	}
	return strings.TrimSuffix(left.Round(time.Minute).String(), "0s")
}

// Print writes a line, above the bar if there is one.
func (b *Bar) Print(format string, args ...any) {
	b.Close()
	fmt.Fprintf(b.out, format+"\n", args...)
	b.say()
}

// Header writes fields separated by bars, as Fields does.
func (b *Bar) Header(fields ...string) { b.Fields(" | ", fields...) }

// Fields writes fields with a separator between them, above the progress if there is any. A field that does not fit
// into the terminal's width, or into 80 columns elsewhere, begins a new line.
func (b *Bar) Fields(separator string, fields ...string) {
	width := cmp.Or(columns(b.out), 80)
	line := ""
	for i, f := range fields {
		switch {
		case i == 0:
			line = f
		case utf8.RuneCountInString(line+separator+f) > width:
			b.Print("%s", line)
			line = "  " + f
		default:
			line += separator + f
		}
	}
	b.Print("%s", line)
}

// Close removes the bar.
func (b *Bar) Close() {
	if b.drawn {
		fmt.Fprint(b.out, "\r", strings.Repeat(" ", max(0, columns(b.out)-1)), "\r")
		b.drawn = false
	}
}
