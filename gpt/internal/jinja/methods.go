package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// objectMethods returns the methods of objects, as Python's dict has them.
func objectMethods() map[string]row {
	return map[string]row{
		"get": {"key default", func(f *frame, v any, a args) any {
			if value, ok := f.get(v.(*Object), a.at[0]); ok {
				return value
			}
			if a.given(1) {
				return a.at[1]
			}
			return nil
		}},
		"items":  {"", pairs},
		"keys":   {"", func(_ *frame, v any, _ args) any { return v.(*Object).keys }},
		"values": {"", func(_ *frame, v any, _ args) any { return v.(*Object).values }},
	}
}

// textMethods returns the methods of texts, as Python's str has them.
func textMethods() map[string]row {
	of := func(params string, work int, do func(f *frame, t Text, a args) any) row {
		return row{params, func(f *frame, v any, a args) any {
			t := v.(Text)
			f.each(len(t.S), work)
			return do(f, t, a)
		}}
	}
	cased := func(change func(r, before rune) rune) row {
		return of("", 16, func(_ *frame, t Text, _ args) any { return t.cased(change) })
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
		"count": of("sub", 2, func(_ *frame, t Text, a args) any { return strings.Count(t.S, a.wantText(0).S) }),
		"removeprefix": of("prefix", 1, func(_ *frame, t Text, a args) any {
			return t.slice(len(t.S)-len(strings.TrimPrefix(t.S, a.wantText(0).S)), len(t.S))
		}),
		"removesuffix": of("suffix", 1, func(_ *frame, t Text, a args) any {
			return t.slice(0, len(strings.TrimSuffix(t.S, a.wantText(0).S)))
		}),
		"split": of("sep maxsplit", 2, split(false)), "rsplit": of("sep maxsplit", 2, split(true)),
		"splitlines": of("keepends", 2, func(f *frame, t Text, a args) any {
			list := []any{}
			for _, line := range f.lines(t, a.truth(0)) {
				list = append(list, line)
			}
			return list
		}),
		"replace": of("old new count", 1, replaced), "format": of("* **", 1, braces),
		"join": of("iterable", 0, func(f *frame, t Text, a args) any {
			list := f.items(a.at[0])
			for _, e := range list {
				if _, ok := e.(Text); !ok {
					panic(failure("got %s, want texts", typeOf(e)))
				}
			}
			return joined(f, list, args{at: []any{t, nil}})
		}),
	}
}

// isSpace reports white space, as Python's str does.
func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// stripped returns the method that takes white space, or other characters, off the ends.
func stripped(left, right bool) func(*frame, Text, args) any {
	return func(f *frame, t Text, a args) any {
		is := isSpace
		if a.given(0) && a.at[0] != nil {
			set := a.wantText(0).S
			f.each(len(set), 64)
			in := make(map[rune]bool, len(set))
			for _, r := range set {
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
		return t
	}
}

// begins returns the method that reports whether a text has a part, or one of a tuple of parts.
func begins(has func(s, part string) bool) func(*frame, Text, args) any {
	return func(f *frame, t Text, a args) any {
		parts, ok := a.at[0].(tuple)
		if !ok {
			parts = tuple{a.wantText(0)}
		}
		return slices.ContainsFunc(parts, func(p any) bool {
			part, ok := p.(Text)
			f.spend(stepWork + len(part.S))
			return ok && has(t.S, part.S)
		})
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
func titled(f *frame, v any, _ args) any {
	t := f.show(v)
	f.each(len(t.S), 16)
	return t.cased(func(r, before rune) rune {
		if before < 0 || isSpace(before) || strings.ContainsRune("-({[<", before) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	})
}

// found returns the method that returns the place of a part, or -1.
func found(index func(s, part string) int) func(*frame, Text, args) any {
	return func(f *frame, t Text, a args) any {
		part := a.wantText(0).S
		f.spend(len(part))
		at := index(t.S, part)
		if at > 0 {
			at = utf8.RuneCountInString(t.S[:at])
		}
		return at
	}
}

// split returns the method that returns the parts of a text between separators, or between blanks: at most maxsplit
// separators, the first or the last ones.
func split(backwards bool) func(*frame, Text, args) any {
	return func(f *frame, t Text, a args) any {
		separator, most := a.text(0, "").S, a.whole(1, -1)
		blank := !a.given(0) || a.at[0] == nil
		if !blank && separator == "" {
			panic(failure("got an empty separator"))
		}
		list := []any{}
		for {
			if blank && backwards {
				t = t.slice(0, len(strings.TrimRightFunc(t.S, isSpace)))
			} else if blank {
				t = t.slice(len(t.S)-len(strings.TrimLeftFunc(t.S, isSpace)), len(t.S))
			}
			at, n := between(t.S, separator, blank, backwards)
			if at < 0 || most >= 0 && len(list) == most {
				break
			}
			f.spend(160)
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
		return list
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
func (f *frame) lines(t Text, ends bool) (list []Text) {
	for t.S != "" {
		f.spend(1000)
		at, end := strings.IndexFunc(t.S, endsLine), len(t.S)
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
	}
	return list
}

// indented returns a text whose lines are indented, without the first one and empty ones unless asked for.
func indented(f *frame, v any, a args) any {
	t := f.show(v)
	f.each(len(t.S), 2)
	by, isText := a.at[0].(Text)
	if !isText {
		n := a.whole(0, 4)
		if n > maxIndent {
			panic(failure("width: got %d, want at most %d", n, maxIndent))
		}
		by = plain(strings.Repeat(" ", max(n, 0)))
	}
	lines := f.lines(t, false)
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
func replaced(f *frame, t Text, a args) any {
	old, with, count := a.wantText(0).S, a.wantText(1), a.whole(2, -1)
	var parts []Text
	for first := true; count != 0; first = false {
		at := strings.Index(t.S, old)
		if old == "" && !first { // between any two characters
			if t.S == "" {
				break
			}
			_, at = utf8.DecodeRuneInString(t.S)
		}
		if at < 0 {
			break
		}
		f.spend(600)
		parts = append(parts, t.slice(0, at), with)
		t = t.slice(at+len(old), len(t.S))
		count--
	}
	return f.concat(append(parts, t))
}

// escape returns a text as HTML.
func (r *run) escape(t Text) Text {
	r.each(len(t.S), 64)
	marks := map[byte]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '\'': "&#39;", '"': "&#34;"}
	var s, by []byte
	for i := range len(t.S) {
		if mark, ok := marks[t.S[i]]; ok {
			s = append(s, mark...)
		} else {
			s = append(s, t.S[i])
		}
		for len(by) < len(s) {
			by = append(by, t.By[i])
		}
	}
	return Text{string(s), string(by), true}
}
