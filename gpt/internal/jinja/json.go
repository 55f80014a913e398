package jinja

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxIndent is the largest number of spaces of a level.
const maxIndent = 100

// tojson writes a value as Hugging Face's libraries do: by Python's json.dumps, with its ensure_ascii, indent,
// separators and sort_keys. If a user has written some of the value, all counts as written by the user.
func tojson(f *frame, v any, a args) any {
	ascii := a.truth(0)
	w := writer{run: f.run, words: map[bool]string{true: "true", false: "false"}, none: "null", json: true,
		comma: ", ", colon: ": ", sorted: a.truth(3)}
	w.quote = func(b *bytes.Buffer, s string) { jsonQuote(b, s, ascii) }
	w.indent(a.at[1])
	if list, ok := listOf(a.at[2]); ok && len(list) == 2 {
		comma, _ := list[0].(Text)
		colon, _ := list[1].(Text)
		if w.comma, w.colon = comma.S, colon.S; len(comma.S) > maxIndent || len(colon.S) > maxIndent {
			panic(failure("separators: got %d bytes, want at most %d", max(len(comma.S), len(colon.S)), maxIndent))
		}
	} else if a.given(2) && a.at[2] != nil {
		panic(failure("separators: got %s, want two texts", typeOf(a.at[2])))
	}
	return w.text(v)
}

// writer writes values as JSON or as Python's repr.
type writer struct {
	*run
	b            bytes.Buffer
	by           byte // the author
	quote        func(b *bytes.Buffer, s string)
	words        map[bool]string
	none         string
	json, sorted bool
	lines        bool   // each item is in a line
	level        string // the indent of a level
	comma, colon string
}

func (w *writer) text(v any) Text {
	w.by = ByTemplate
	w.write(v, "\n")
	w.each(w.b.Len(), 4)
	return By(w.by, w.b.String())
}

// indent sets the indent of a level, none for nil.
func (w *writer) indent(v any) {
	n := 0
	switch v := v.(type) {
	case nil, undefined:
		return
	case Text:
		w.level = v.S
	default:
		var ok bool
		if n, ok = wholeOf(v); !ok {
			panic(failure("indent: got %s, want a whole number or a text", typeOf(v)))
		}
	}
	if n > maxIndent || len(w.level) > maxIndent {
		panic(failure("indent: got %d, want at most %d", max(n, len(w.level)), maxIndent))
	}
	w.lines, w.comma, w.level = true, ",", w.level+strings.Repeat(" ", max(0, n))
}

// write writes a value, whose last line begins with the given line end and indent.
func (w *writer) write(v any, line string) {
	w.enter()
	defer w.leave()
	switch v := v.(type) {
	case nil:
		w.b.WriteString(w.none)
	case bool:
		w.b.WriteString(w.words[v])
	case int:
		w.b.WriteString(strconv.Itoa(v))
	case float64:
		s := repr(v)
		if w.json {
			s = strings.NewReplacer("nan", "NaN", "inf", "Infinity").Replace(s)
		}
		w.b.WriteString(s)
	case Text:
		w.each(len(v.S), 20) // as many as a control character takes, while the buffer grows
		if by := strings.TrimLeft(v.By, string(rune(ByTemplate))); by != "" && w.by == ByTemplate {
			w.by = by[0]
		}
		w.quote(&w.b, v.S)
	case []any:
		w.items("[]", len(v), line, func(i int, line string) { w.write(v[i], line) })
	case tuple:
		brackets := "()"
		if w.json {
			brackets = "[]"
		} else if len(v) == 1 {
			brackets = "(,)"
		}
		w.items(brackets, len(v), line, func(i int, line string) { w.write(v[i], line) })
	case *Object:
		w.object(v, line)
	case undefined:
		if w.json {
			panic(failure("cannot write %s", typeOf(v)))
		}
		w.b.WriteString("Undefined")
	default:
		panic(failure("cannot write %s", typeOf(v)))
	}
}

func (w *writer) object(o *Object, line string) {
	order := w.order(len(o.keys))
	if w.sorted {
		w.sort(order, o.keys, false)
	}
	w.items("{}", len(order), line, func(i int, line string) {
		key := o.keys[order[i]]
		if _, isText := key.(Text); w.json && !isText {
			name := writer{run: w.run, quote: w.quote, words: w.words, none: w.none, json: true}
			key = name.text(key)
		}
		w.write(key, line)
		w.b.WriteString(w.colon)
		w.write(o.values[order[i]], line)
	})
}

// items writes n items between the first bracket and the others.
func (w *writer) items(brackets string, n int, line string, item func(i int, line string)) {
	w.b.WriteByte(brackets[0])
	inner := line
	if w.lines && n > 0 {
		inner += w.level
	}
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.comma)
		}
		w.begin(inner)
		item(i, inner)
	}
	if n > 0 {
		w.begin(line)
	}
	w.b.WriteString(brackets[1:])
}

// begin begins a line, if items are in lines.
func (w *writer) begin(line string) {
	if w.lines {
		w.spend(4 * len(line))
		w.b.WriteString(line)
	}
}

// jsonQuote writes a text as json.dumps does: only quotes, backslashes, control characters and, if ascii, all others
// that are not in ASCII are escaped.
func jsonQuote(b *bytes.Buffer, s string, ascii bool) {
	b.WriteByte('"')
	for _, c := range s {
		at := strings.IndexRune("\"\\\n\r\t\f\b", c)
		switch {
		case at >= 0:
			b.WriteByte('\\')
			b.WriteByte(`"\nrtfb`[at])
		case c < ' ' || ascii && (c >= 0x7f && c < 0x10000):
			hex(b, 'u', 4, c)
		case ascii && c >= utf8.RuneSelf:
			high, low := utf16.EncodeRune(c)
			hex(b, 'u', 4, high)
			hex(b, 'u', 4, low)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
}
