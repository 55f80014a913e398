package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// objectMethods returns the methods of objects, as Python's dict has them.
func objectMethods() map[string]row {
	return map[string]row{
		"get": {"key default", func(f *frame, v any, a args) (any, error) {
			if value, ok, err := f.get(v.(*Object), a.at[0]); ok || err != nil {
				return value, err
			}
			if a.given(1) {
				return a.at[1], nil
			}
			return nil, nil
		}},
		"items": {"", pairs},
		"keys":  {"", func(f *frame, v any, _ args) (any, error) { return f.items(v) }},
		"values": {"", func(_ *frame, v any, _ args) (any, error) {
			return v.(*Object).values, nil
		}},
	}
}

// textMethods returns the methods of texts, as Python's str has them.
func textMethods() map[string]row {
	of := func(params string, work int, do func(f *frame, t Text, a args) (any, error)) row {
		return row{params, func(f *frame, v any, a args) (any, error) {
			t := v.(Text)
			if err := f.each(len(t.S), work); err != nil {
				return nil, err
			}
			return do(f, t, a)
		}}
	}
	cased := func(change func(r, before rune) rune) row {
		return of("", 16, func(_ *frame, t Text, _ args) (any, error) { return t.cased(change), nil })
	}
	return map[string]row{
		"strip": of("chars", 1, stripped(true, true)), "lstrip": of("chars", 1, stripped(true, false)),
		"rstrip":     of("chars", 1, stripped(false, true)),
		"startswith": of("prefix", 0, begins(strings.HasPrefix)),
		"endswith":   of("suffix", 0, begins(strings.HasSuffix)),
		"upper":      cased(func(r, _ rune) rune { return unicode.ToUpper(r) }),
		"lower":      cased(func(r, _ rune) rune { return unicode.ToLower(r) }),
		"capitalize": cased(func(r, before rune) rune {
			if before < 0 {
				return unicode.ToTitle(r)
			}
			return unicode.ToLower(r)
		}),
		"title": cased(func(r, before rune) rune {
			if unicode.IsLetter(before) {
				return unicode.ToLower(r)
			}
			return unicode.ToTitle(r)
		}),
		"find": of("sub", 2, found(strings.Index)), "rfind": of("sub", 2, found(strings.LastIndex)),
		"count": of("sub", 2, func(f *frame, t Text, a args) (any, error) {
			part, err := a.wantText(0)
			return strings.Count(t.S, part.S), err
		}),
		"removeprefix": of("prefix", 1, func(_ *frame, t Text, a args) (any, error) {
			part, err := a.wantText(0)
			return t.slice(len(t.S)-len(strings.TrimPrefix(t.S, part.S)), len(t.S)), err
		}),
		"removesuffix": of("suffix", 1, func(_ *frame, t Text, a args) (any, error) {
			part, err := a.wantText(0)
			return t.slice(0, len(strings.TrimSuffix(t.S, part.S))), err
		}),
		"split": of("sep maxsplit", 2, split(false)), "rsplit": of("sep maxsplit", 2, split(true)),
		"splitlines": of("keepends", 2, func(f *frame, t Text, a args) (any, error) {
			lines, err := f.lines(t, a.truth(0))
			list := make([]any, len(lines))
			for i, line := range lines {
				list[i] = line
			}
			return list, err
		}),
		"replace": of("old new count", 1, replaced), "format": of("* **", 1, braces),
		"join": of("iterable", 0, func(f *frame, t Text, a args) (any, error) {
			list, err := f.items(a.at[0])
			if err != nil {
				return nil, err
			}
			for _, e := range list {
				if _, ok := e.(Text); !ok {
					return nil, errors.Errorf("got %s, want texts", typeOf(e))
				}
			}
			return joined(f, list, args{at: []any{t, undefined{}}})
		}),
	}
}

// isSpace reports white space, as Python's str does.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// stripped returns the method that takes white space, or other characters, off the ends.
func stripped(left, right bool) func(*frame, Text, args) (any, error) {
	return func(f *frame, t Text, a args) (any, error) {
		is := isSpace
		set, err := a.text(0, "")
		if err == nil {
			err = f.each(len(set.S), 64)
		}
		if err != nil {
			return nil, err
		}
		if a.given(0) && a.at[0] != nil {
			in := make(map[rune]bool, len(set.S))
			for _, r := range set.S {
				in[r] = true
			}
			is = func(r rune) bool { return in[r] }
		}
		if left {
			t = t.slice(len(t.S)-len(strings.TrimLeftFunc(t.S, is)), len(t.S))
		}
		if right {
			t = t.slice(0, len(strings.TrimRightFunc(t.S, is)))
		}
		return t, nil
	}
}

// begins returns the method that reports whether a text has a part, or one of a tuple of parts.
func begins(has func(s, part string) bool) func(*frame, Text, args) (any, error) {
	return func(f *frame, t Text, a args) (any, error) {
		parts, ok := a.at[0].(tuple)
		if !ok {
			parts = tuple{a.at[0]}
		}
		for _, p := range parts {
			part, ok := p.(Text)
			if !ok {
				return nil, errors.Errorf("got %s, want a text", typeOf(p))
			}
			if err := f.spend(stepWork + len(part.S)); err != nil {
				return nil, err
			}
			if has(t.S, part.S) {
				return true, nil
			}
		}
		return false, nil
	}
}

// cased changes each letter to one that may have another length; before is the letter before it.
func (t Text) cased(change func(r, before rune) rune) Text {
	s, by := make([]byte, 0, len(t.S)), make([]byte, 0, len(t.S))
	before := rune(-1)
	for at, r := range t.S {
		_, size := utf8.DecodeRuneInString(t.S[at:])
		if r == utf8.RuneError && size == 1 {
			s = append(s, t.S[at])
		} else {
			s = utf8.AppendRune(s, change(r, before))
		}
		for len(by) < len(s) {
			by = append(by, t.By[at])
		}
		before = r
	}
	return Text{string(s), string(by), t.safe}
}

// titled returns a text whose words begin with a capital: after a blank, a hyphen or an opening bracket.
func titled(f *frame, v any, _ args) (any, error) {
	t, err := f.show(v)
	if err == nil {
		err = f.each(len(t.S), 16)
	}
	if err != nil {
		return nil, err
	}
	return t.cased(func(r, before rune) rune {
		if before < 0 || isSpace(before) || strings.ContainsRune("-({[<", before) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}), nil
}

// found returns the method that returns the place of a part, or -1.
func found(index func(s, part string) int) func(*frame, Text, args) (any, error) {
	return func(f *frame, t Text, a args) (any, error) {
		part, err := a.wantText(0)
		if err == nil {
			err = f.spend(len(part.S))
		}
		if err != nil {
			return nil, err
		}
		at := index(t.S, part.S)
		if at > 0 {
			at = utf8.RuneCountInString(t.S[:at])
		}
		return at, nil
	}
}

// split returns the method that returns the parts of a text between separators, or between blanks: at most maxsplit
// separators, the first or the last ones.
func split(backwards bool) func(*frame, Text, args) (any, error) {
	return func(f *frame, t Text, a args) (any, error) {
		most, err := a.whole(1, -1)
		separator, wrong := a.text(0, "")
		blank := !a.given(0) || a.at[0] == nil
		switch {
		case err != nil || wrong != nil:
			return nil, errors.Errorf("got %s and %s, want a text and a whole number", typeOf(a.at[0]), typeOf(a.at[1]))
		case !blank && separator.S == "":
			return nil, errors.New("got an empty separator")
		}
		list := []any{}
		for {
			if blank && backwards {
				t = t.slice(0, len(strings.TrimRightFunc(t.S, isSpace)))
			} else if blank {
				t = t.slice(len(t.S)-len(strings.TrimLeftFunc(t.S, isSpace)), len(t.S))
			}
			at, n := between(t.S, separator.S, blank, backwards)
			if at < 0 || most >= 0 && len(list) == most {
				break
			}
			if err := f.spend(160); err != nil {
				return nil, err
			}
			if backwards {
				list, t = append(list, t.slice(at+n, len(t.S))), t.slice(0, at)
			} else {
				list, t = append(list, t.slice(0, at)), t.slice(at+n, len(t.S))
			}
		}
		if !blank || t.S != "" {
			list = append(list, t)
		}
		if backwards {
			slices.Reverse(list)
		}
		return list, nil
	}
}

// between returns the place and the length of the first or last separator, or -1.
func between(s, separator string, blank, backwards bool) (at, n int) {
	switch {
	case blank && backwards:
		at = strings.LastIndexFunc(s, isSpace)
	case blank:
		at = strings.IndexFunc(s, isSpace)
	case backwards:
		return strings.LastIndex(s, separator), len(separator)
	default:
		return strings.Index(s, separator), len(separator)
	}
	if at >= 0 {
		_, n = utf8.DecodeRuneInString(s[at:])
	}
	return at, n
}

// endsLine reports a character that ends a line, as Python's splitlines does.
func endsLine(r rune) bool {
	return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
}

// lines returns the lines of a text, with their ends if they are kept.
func (f *frame) lines(t Text, ends bool) (list []Text, err error) {
	for t.S != "" && err == nil {
		at := strings.IndexFunc(t.S, endsLine)
		end := len(t.S)
		if at < 0 {
			at = end
		} else {
			_, n := utf8.DecodeRuneInString(t.S[at:])
			if end = at + n; strings.HasPrefix(t.S[at:], "\r\n") {
				end = at + 2
			}
		}
		line := t.slice(0, at)
		if ends {
			line = t.slice(0, end)
		}
		list, t = append(list, line), t.slice(end, len(t.S))
		err = f.spend(1000)
	}
	return list, err
}

// indented returns a text whose lines are indented, without the first one and empty ones unless asked for.
func indented(f *frame, v any, a args) (any, error) {
	t, err := f.show(v)
	if err == nil {
		err = f.each(len(t.S), 2)
	}
	if err != nil {
		return nil, err
	}
	by, isText := a.at[0].(Text)
	if !isText {
		n, err := a.whole(0, 4)
		if err != nil || n > 1<<16 {
			return nil, errors.Errorf("width: got %v, want a text or a number of at most %d", a.at[0], 1<<16)
		}
		by = plain(strings.Repeat(" ", max(n, 0)))
	}
	lines, err := f.lines(t, false)
	if err != nil {
		return nil, err
	}
	if n := len(t.S); n == 0 || t.S[n-1] == '\n' { // of a line that is empty
		lines = append(lines, Text{})
	}
	var parts []Text
	for i, line := range lines {
		if i > 0 {
			parts = append(parts, plain("\n"))
		}
		if i == 0 && a.truth(1) || i > 0 && (line.S != "" || a.truth(2)) {
			parts = append(parts, by)
		}
		parts = append(parts, line)
	}
	return f.concat(parts)
}

// replaced returns a text with a part replaced wherever it occurs, or at the first count places.
func replaced(f *frame, t Text, a args) (any, error) {
	old, err := a.wantText(0)
	with, wrong := a.wantText(1)
	count, also := a.whole(2, -1)
	if a.at[2] == nil {
		count, also = -1, nil
	}
	if err != nil || wrong != nil || also != nil {
		return nil, errors.New("want two texts and perhaps a whole number")
	}
	var parts []Text
	for first := true; count != 0; first = false {
		at := strings.Index(t.S, old.S)
		if old.S == "" && !first { // between any two characters
			if t.S == "" {
				break
			}
			_, at = utf8.DecodeRuneInString(t.S)
		}
		if at < 0 {
			break
		}
		if err := f.spend(600); err != nil {
			return nil, err
		}
		parts = append(parts, t.slice(0, at), with)
		t = t.slice(at+len(old.S), len(t.S))
		count--
	}
	return f.concat(append(parts, t))
}

// escape returns a text as HTML.
func (r *run) escape(t Text) (Text, error) {
	if err := r.each(len(t.S), 64); err != nil {
		return Text{}, err
	}
	var s, by []byte
	for i := range len(t.S) {
		switch c := t.S[i]; c {
		case '&':
			s = append(s, "&amp;"...)
		case '<':
			s = append(s, "&lt;"...)
		case '>':
			s = append(s, "&gt;"...)
		case '\'':
			s = append(s, "&#39;"...)
		case '"':
			s = append(s, "&#34;"...)
		default:
			s = append(s, c)
		}
		for len(by) < len(s) {
			by = append(by, t.By[i])
		}
	}
	return Text{string(s), string(by), true}, nil
}
