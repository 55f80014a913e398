package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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

// specOf reads flags, width, precision and verb.
func specOf(s string, align byte) spec {
	digits := strings.TrimLeft(s, "+0")
	sp := spec{align: align, flags: s[:len(s)-len(digits)], point: -1}
	number := func() (n int) {
		for digits != "" && isDigit(digits[0]) && n <= maxWidth {
			n = 10*n + int(digits[0]-'0')
			digits = digits[1:]
		}
		return n
	}
	sp.width = number()
	if strings.HasPrefix(digits, ".") {
		digits = digits[1:]
		sp.point = number()
	}
	if digits != "" {
		sp.verb, digits = digits[0], digits[1:]
	}
	if digits != "" || sp.width > maxWidth || sp.point > maxWidth {
		panic(failure("got the format %.32q, want a width, a precision, each of at most %d, and a letter", s, maxWidth))
	}
	return sp
}

// formatted returns the text of a value.
func (f *frame) formatted(sp spec, v any) Text {
	f.spend(stepWork + 8*maxWidth)
	x, isNumber := numeric(v)
	n, whole := wholeOf(v)
	if _, isBool := v.(bool); isBool && sp.verb == 0 {
		isNumber = false
	}
	zeros := ""
	if strings.Contains(sp.flags, "0") {
		zeros = strconv.Itoa(sp.width)
	}
	t, right := f.show(v), isNumber
	switch {
	case sp.verb == 0 && isNumber && (sp.point >= 0 || sp.flags != ""):
		panic(failure("got a format of a number without a letter, want one such as f"))
	case sp.verb == 0 || sp.verb == 's':
		if sp.point >= 0 && sp.point < f.length(t) {
			t = t.slice(0, offset(t.S, 0, sp.point))
		}
	case !isNumber || strings.IndexByte("xXo", sp.verb) >= 0 && !whole:
		panic(failure("got %s for %q, want a number", typeOf(v), sp.verb))
	case strings.IndexByte("dixXo", sp.verb) >= 0 && sp.point < 0:
		if !whole {
			n = int(x)
		}
		t = plain(fmt.Sprintf("%"+sp.flags+zeros+strings.Replace(string(rune(sp.verb)), "i", "d", 1), n))
	case strings.IndexByte("feEgG", sp.verb) >= 0:
		if sp.point < 0 {
			sp.point = 6
		}
		t = plain(fmt.Sprintf("%"+sp.flags+zeros+"."+strconv.Itoa(sp.point)+string(rune(sp.verb)), x))
	default:
		panic(failure("unknown format %q", sp.verb))
	}
	missing, left := max(0, sp.width-utf8.RuneCountInString(t.S)), 0
	switch {
	case sp.align == '^':
		left = missing / 2
	case sp.align == '>' || sp.align == 0 && right:
		left = missing
	}
	return f.concat([]Text{plain(strings.Repeat(" ", left)), t, plain(strings.Repeat(" ", missing-left))})
}

// printf returns a text with values in place of %s, %d and their like.
func (f *frame) printf(t Text, values []any) Text {
	f.each(len(t.S), 1)
	var parts []Text
	for at := strings.IndexByte(t.S, '%'); at >= 0; at = strings.IndexByte(t.S, '%') {
		f.step()
		end := at + 1
		for end < len(t.S) && strings.IndexByte("-+0123456789.", t.S[end]) >= 0 {
			end++
		}
		if end == len(t.S) {
			panic(failure("a format has no end"))
		}
		parts = append(parts, t.slice(0, at))
		if inside := t.S[at+1 : end+1]; inside == "%" {
			parts = append(parts, t.slice(end, end+1))
		} else {
			align := byte('>')
			if strings.HasPrefix(inside, "-") {
				align, inside = '<', strings.TrimLeft(inside, "-0")
			}
			sp := specOf(inside, align)
			if len(values) == 0 {
				panic(failure("got no value for %%%.32s", inside))
			}
			parts, values = append(parts, f.formatted(sp, values[0])), values[1:]
		}
		t = t.slice(end+1, len(t.S))
	}
	if len(values) > 0 {
		panic(failure("got %d values more than places", len(values)))
	}
	return f.concat(append(parts, t))
}

// braces returns a text with values in place of {}, {0}, {name} and {:5.2f}.
func braces(f *frame, t Text, a args) any {
	var parts []Text
	n := 0
	for at := strings.IndexAny(t.S, "{}"); at >= 0; at = strings.IndexAny(t.S, "{}") {
		f.step()
		parts = append(parts, t.slice(0, at))
		if strings.HasPrefix(t.S[at+1:], t.S[at:at+1]) {
			parts, t = append(parts, t.slice(at, at+1)), t.slice(at+2, len(t.S))
			continue
		}
		end := at + strings.IndexByte(t.S[at:], '}')
		if end <= at {
			panic(failure("a brace stands alone"))
		}
		field, format, _ := strings.Cut(t.S[at+1:end], ":")
		t = t.slice(end+1, len(t.S))
		if field == "" {
			field = strconv.Itoa(n)
			n++
		}
		v, ok := f.get(a.named, plain(field))
		if i, err := strconv.Atoi(field); err == nil && i >= 0 && i < len(a.more) {
			v, ok = a.more[i], true
		}
		if !ok {
			panic(failure("got no value for {%.32s}", field))
		}
		align := byte(0)
		if format != "" && strings.IndexByte("<>^", format[0]) >= 0 {
			align, format = format[0], format[1:]
		}
		parts = append(parts, f.formatted(specOf(format, align), v))
	}
	return f.concat(append(parts, t))
}
