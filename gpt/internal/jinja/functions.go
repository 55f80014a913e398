package jinja

import (
	"strings"
	"time"

	"github.com/pkg/errors"
)

// maxRange is the largest number of items of a range, as in Jinja2's sandbox.
const maxRange = 100_000

// numbers returns range(to), range(from, to) or range(from, to, step).
func numbers(f *frame, _ any, a args) (any, error) {
	start, err := a.whole(0, 0)
	stop, wrong := a.whole(1, 0)
	step, also := a.whole(2, 1)
	if err != nil || wrong != nil || also != nil || !a.given(0) || step == 0 {
		return nil, errors.New("want one to three whole numbers, the last not 0")
	}
	if !a.given(1) {
		start, stop = 0, start
	}
	span, stride := uint64(stop)-uint64(start), uint64(step)
	if step < 0 {
		span, stride = -span, -stride
	}
	if start == stop || start < stop != (step > 0) {
		return []any{}, nil
	}
	n := (span-1)/stride + 1
	if n > maxRange {
		return nil, errors.Errorf("got %d numbers, want at most %d", n, maxRange)
	}
	if err := f.each(int(n), 32); err != nil {
		return nil, err
	}
	list := make([]any, n)
	for i := range list {
		list[i] = start + i*step
	}
	return list, nil
}

func strftimeNow(f *frame, _ any, a args) (any, error) {
	t, err := a.wantText(0)
	if err == nil {
		err = f.each(len(t.S), 40)
	}
	if err != nil {
		return nil, err
	}
	return date(t.S, time.Now())
}

// date writes a time as C's strftime does.
func date(format string, now time.Time) (Text, error) {
	layouts := map[byte]string{'d': "02", 'm': "01", 'Y': "2006", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon",
		'A': "Monday", 'H': "15", 'M': "04", 'S': "05", 'I': "03", 'p': "PM", '%': "%"}
	var s strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			s.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := layouts[format[i]]
		if !ok {
			return Text{}, errors.Errorf("unknown mark %%%c", format[i])
		}
		s.WriteString(now.Format(layout))
	}
	return plain(s.String()), nil
}
