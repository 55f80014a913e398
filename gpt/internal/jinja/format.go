package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// spec says how a value is written, as in %-5s and {:<5}.
type spec struct {
	align byte   // < or >, ^ for the middle, or 0
	flags string // + and 0, as Go and Python write them
	width int
	point int // digits after the point, or characters of a text; -1 if none are given
	verb  byte
}

// maxWidth is the largest width, and the largest number of digits after a point.
const maxWidth = 1000

// specOf reads width, precision and verb.
func specOf(s string, align byte, flags string) (spec, error) {
	sp := spec{align: align, flags: flags, point: -1}
	number := func() int {
		n := 0
		for s != "" && isDigit(s[0]) && n <= maxWidth {
			n = 10*n + int(s[0]-'0')
			s = s[1:]
		}
		return n
	}
	sp.width = number()
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		sp.point = number()
	}
	if s != "" {
		sp.verb, s = s[0], s[1:]
	}
	if s != "" || sp.width > maxWidth || sp.point > maxWidth {
		return sp, errors.Errorf("got a format of the rest %.32q, want a width, a precision and a letter", s)
	}
	return sp, nil
}

// formatted returns the text of a value.
func (f *frame) formatted(sp spec, v any) (Text, error) {
	if err := f.spend(stepWork + 4*sp.width); err != nil {
		return Text{}, err
	}
	x, isNumber := numeric(v)
	n, whole := wholeOf(v)
	t, err := f.show(v)
	right := isNumber
	_, isBool := v.(bool)
	right = right && !isBool
	switch sp.verb {
	case 0:
		if isNumber && (sp.point >= 0 || sp.flags != "") {
			return Text{}, errors.New("got a format of a number without a letter, want one such as f")
		}
		fallthrough
	case 's':
		if runes := utf8.RuneCountInString(t.S); sp.point >= 0 && sp.point < runes {
			t = t.slice(0, offset(t.S, 0, sp.point))
		}
	case 'd', 'i', 'x', 'X', 'o':
		if !whole && sp.verb != 'd' && sp.verb != 'i' || !isNumber || sp.point >= 0 {
			return Text{}, errors.Errorf("got %s for %c, want a whole number", typeOf(v), sp.verb)
		}
		if !whole {
			n = int(x)
		}
		verb := strings.Replace(string(rune(sp.verb)), "i", "d", 1)
		t, right = plain(fmt.Sprintf("%"+sp.flags+sp.pad()+verb, n)), true
	case 'f', 'e', 'E', 'g', 'G':
		if !isNumber {
			return Text{}, errors.Errorf("got %s for %c, want a number", typeOf(v), sp.verb)
		}
		if sp.point < 0 {
			sp.point = 6
		}
		t, right = plain(fmt.Sprintf("%"+sp.flags+sp.pad()+"."+strconv.Itoa(sp.point)+string(rune(sp.verb)), x)), true
	default:
		return Text{}, errors.Errorf("unknown format %q", sp.verb)
	}
	missing := sp.width - utf8.RuneCountInString(t.S)
	if err != nil || missing <= 0 {
		return t, err
	}
	left := 0
	switch {
	case sp.align == '^':
		left = missing / 2
	case sp.align == '>' || sp.align == 0 && right:
		left = missing
	}
	return f.concat([]Text{plain(strings.Repeat(" ", left)), t, plain(strings.Repeat(" ", missing-left))})
}

// pad returns the width of a number that zeros fill.
func (sp spec) pad() string {
	if strings.Contains(sp.flags, "0") {
		return strconv.Itoa(sp.width)
	}
	return ""
}

// printf returns a text with values in place of %s, %d and their like.
func (f *frame) printf(t Text, values []any) (any, error) {
	if err := f.spend(len(t.S)); err != nil {
		return nil, err
	}
	var parts []Text
	for {
		at := strings.IndexByte(t.S, '%')
		if at < 0 {
			break
		}
		end := at + 1
		for end < len(t.S) && strings.IndexByte("-+ #0123456789.", t.S[end]) >= 0 {
			end++
		}
		if end == len(t.S) {
			return nil, errors.New("a format has no end")
		}
		if err := f.step(); err != nil {
			return nil, err
		}
		parts = append(parts, t.slice(0, at))
		if t.S[end] == '%' {
			parts = append(parts, t.slice(end, end+1))
		} else {
			inside := t.S[at+1 : end+1]
			digits := strings.TrimLeft(inside, "-+0")
			flags, align := inside[:len(inside)-len(digits)], byte('>')
			if strings.Contains(flags, "-") {
				align, flags = '<', ""
			}
			sp, err := specOf(digits, align, strings.ReplaceAll(flags, "-", ""))
			if err == nil && len(values) == 0 {
				err = errors.Errorf("got no value for %%%.32s", inside)
			}
			if err != nil {
				return nil, err
			}
			part, err := f.formatted(sp, values[0])
			if err != nil {
				return nil, err
			}
			parts, values = append(parts, part), values[1:]
		}
		t = t.slice(end+1, len(t.S))
	}
	if len(values) > 0 {
		return nil, errors.Errorf("got %d values more than places", len(values))
	}
	return f.concat(append(parts, t))
}

// braces returns a text with values in place of {}, {0}, {name} and {:5.2f}.
func braces(f *frame, t Text, a args) (any, error) {
	var parts []Text
	for n := 0; ; {
		at := strings.IndexAny(t.S, "{}")
		if at < 0 {
			return f.concat(append(parts, t))
		}
		parts = append(parts, t.slice(0, at))
		if strings.HasPrefix(t.S[at+1:], t.S[at:at+1]) {
			parts, t = append(parts, t.slice(at, at+1)), t.slice(at+2, len(t.S))
			if err := f.step(); err != nil {
				return nil, err
			}
			continue
		}
		end := at + strings.IndexByte(t.S[at:], '}')
		if end <= at {
			return nil, errors.New("a brace stands alone")
		}
		field, format, _ := strings.Cut(t.S[at+1:end], ":")
		t = t.slice(end+1, len(t.S))
		if field == "" {
			field = strconv.Itoa(n)
			n++
		}
		v, ok, err := f.get(a.named, plain(field))
		if i, err := strconv.Atoi(field); err == nil && i >= 0 && i < len(a.more) {
			v, ok = a.more[i], true
		}
		if err != nil || !ok {
			return nil, errors.Errorf("got no value for {%.32s}", field)
		}
		align := byte(0)
		if format != "" && strings.IndexByte("<>^", format[0]) >= 0 {
			align, format = format[0], format[1:]
		}
		digits := strings.TrimLeft(format, "+0")
		sp, err := specOf(digits, align, format[:len(format)-len(digits)])
		if err != nil {
			return nil, err
		}
		part, err := f.formatted(sp, v)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
}
