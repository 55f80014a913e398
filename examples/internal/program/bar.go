package program

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Bar tells how far a program is and how long the rest will take: on a terminal in one line, which is written again and
// again and never wraps; elsewhere in some fifty lines, seconds apart.
type Bar struct {
	// End is when the program stops though steps are left; zero is never.
	End time.Time

	out               io.Writer
	terminal          bool
	what              string
	begin, now, total int           // steps
	every             int           // steps between two lines
	pause             time.Duration // at least, between two lines
	start, last       time.Time     // last: of a line or a drawing
	drawn             bool
}

// NewBar counts from begin, where a run is resumed, to total. What is empty where the steps are the program's own.
func NewBar(out io.Writer, what string, begin, total int) *Bar {
	now := time.Now()
	return &Bar{out: out, terminal: columns(out) > 0, what: what, begin: begin, now: begin, total: total,
		every: interval(total), pause: 5 * time.Second, start: now, last: now}
}

// Every makes it a line every so many steps, however fast they are; 0 is some fifty lines.
func (b *Bar) Every(steps int) *Bar {
	if b.pause = 0; steps > 0 {
		b.every = steps
	}
	return b
}

// interval returns the steps between two of at most fifty lines: 1, 2 or 5, 10, 20 or 50, and so on.
func interval(total int) int {
	for n := 1; ; n *= 10 {
		for _, by := range []int{1, 2, 5} {
			if total <= 50*n*by {
				return n * by
			}
		}
	}
}

// Add counts n steps more; the text says where things stand.
func (b *Bar) Add(n int, format string, args ...any) { b.Draw(b.now+n, fmt.Sprintf(format, args...)) }

// Write counts the bytes of a download.
func (b *Bar) Write(data []byte) (int, error) {
	b.Draw(b.now + len(data))
	return len(data), nil
}

// Draw says that a program is at a step, with what there is to say of it; a narrow terminal shows the first of that.
func (b *Bar) Draw(step int, fields ...string) {
	before, since := b.now, time.Since(b.last)
	b.now = step
	switch {
	case b.terminal:
		if b.drawn && since < 100*time.Millisecond { // nobody reads faster
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

func (b *Bar) count(what string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d/%d", what, b.now, b.total))
}

// eta returns the time that the steps left will take, if they are as fast as those since begin: seconds, or minutes
// where it is hours.
func (b *Bar) eta() string {
	done := max(1, b.now-b.begin)
	left := time.Duration(float64(time.Since(b.start)) / float64(done) * float64(max(0, b.total-b.now)))
	if !b.End.IsZero() {
		left = min(left, max(0, time.Until(b.End)))
	}
	if left < time.Hour {
		return left.Round(time.Second).String()
	}
	return strings.TrimSuffix(left.Round(time.Minute).String(), "0s")
}

// Print writes a line, above the bar if there is one.
func (b *Bar) Print(format string, args ...any) {
	b.Close()
	fmt.Fprintf(b.out, format+"\n", args...)
}

// Header writes fields with bars between them, above the progress if there is one. A field that does not fit into the
// terminal's width, or into 80 columns elsewhere, begins a new line.
func (b *Bar) Header(fields ...string) {
	width := cmp.Or(columns(b.out), 80)
	line := ""
	for i, f := range fields {
		switch {
		case i == 0:
			line = f
		case utf8.RuneCountInString(line)+3+utf8.RuneCountInString(f) > width:
			b.Print("%s", line)
			line = "  " + f
		default:
			line += " | " + f
		}
	}
	b.Print("%s", line)
}

// Close takes the bar away.
func (b *Bar) Close() {
	if b.drawn {
		fmt.Fprint(b.out, "\r", strings.Repeat(" ", max(0, columns(b.out)-1)), "\r")
		b.drawn = false
	}
}
