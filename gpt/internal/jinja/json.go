package jinja

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// maxIndent is the largest number of spaces of a level.
const maxIndent = 100

// tojson writes a value as Hugging Face's libraries do: by Python's json.dumps, with its ensure_ascii, indent,
// separators and sort_keys. If a user has written some of the value, all counts as written by the user.
func tojson(f *frame, v any, a args) (any, error) {
	ascii := a.truth(0)
	w := writer{run: f.run, words: map[bool]string{true: "true", false: "false"}, none: "null", json: true,
		comma: ", ", colon: ": ", sorted: a.truth(3)}
	w.quote = func(b *bytes.Buffer, s string) { jsonQuote(b, s, ascii) }
	if err := w.indent(a.at[1]); err != nil {
		return nil, err
	}
	if list, ok := listOf(a.at[2]); ok && len(list) == 2 {
		comma, _ := list[0].(Text)
		colon, _ := list[1].(Text)
		if w.comma, w.colon = comma.S, colon.S; len(comma.S) > maxIndent || len(colon.S) > maxIndent {
			return nil, errors.Errorf("separators: got %d bytes, want at most %d", max(len(comma.S), len(colon.S)),
				maxIndent)
		}
	} else if a.given(2) && a.at[2] != nil {
		return nil, errors.Errorf("separators: got %s, want two texts", typeOf(a.at[2]))
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

func (w *writer) text(v any) (Text, error) {
	w.by = ByTemplate
	if err := w.write(v, "\n"); err != nil {
		return Text{}, err
	}
	return By(w.by, w.b.String()), w.spend(4 * w.b.Len())
}

// indent sets the indent of a level, none for nil.
func (w *writer) indent(v any) error {
	n := 0
	switch v := v.(type) {
	case nil, undefined:
		return nil
	case Text:
		w.level = v.S
	default:
		var ok bool
		if n, ok = wholeOf(v); !ok {
			return errors.Errorf("indent: got %s, want a whole number or a text", typeOf(v))
		}
	}
	if n > maxIndent || len(w.level) > maxIndent {
		return errors.Errorf("indent: got %d, want at most %d", max(n, len(w.level)), maxIndent)
	}
	w.lines, w.comma, w.level = true, ",", w.level+strings.Repeat(" ", max(0, n))
	return nil
}

// write writes a value, whose last line begins with the given line end and indent.
func (w *writer) write(v any, line string) error {
	if err := w.enter(); err != nil {
		return err
	}
	defer w.leave()
	if _, whole := v.(int); !whole {
		if list, ok := listOf(v); ok {
			brackets, one := "[]", ""
			if _, isTuple := v.(tuple); isTuple && !w.json {
				if brackets = "()"; len(list) == 1 {
					one = ","
				}
			}
			return w.items(brackets, one, len(list), line, func(i int, line string) error {
				return w.write(list[i], line)
			})
		}
	}
	switch v := v.(type) {
	case nil:
		w.b.WriteString(w.none)
		return nil
	case bool:
		w.b.WriteString(w.words[v])
		return nil
	case int:
		w.b.WriteString(strconv.Itoa(v))
		return nil
	case float64:
		s := repr(v)
		if w.json {
			s = strings.NewReplacer("nan", "NaN", "inf", "Infinity").Replace(s)
		}
		w.b.WriteString(s)
		return nil
	case Text:
		return w.string(v)
	case *Object:
		return w.object(v, line)
	}
	if _, ok := v.(undefined); ok && !w.json {
		w.b.WriteString("Undefined")
		return nil
	}
	return errors.Errorf("cannot write %s", typeOf(v))
}

func (w *writer) object(o *Object, line string) error {
	order := make([]int, len(o.keys))
	if err := w.each(len(order), 8); err != nil {
		return err
	}
	for i := range order {
		order[i] = i
	}
	if w.sorted {
		if err := w.sort(order, func(i int) any { return o.keys[i] }, false); err != nil {
			return err
		}
	}
	return w.items("{}", "", len(order), line, func(i int, line string) error {
		key := o.keys[order[i]]
		if _, isText := key.(Text); w.json && !isText {
			name := writer{run: w.run, quote: w.quote, words: w.words, none: w.none, json: true}
			t, err := name.text(key)
			if err != nil {
				return err
			}
			key = t
		}
		if err := w.write(key, line); err != nil {
			return err
		}
		w.b.WriteString(w.colon)
		return w.write(o.values[order[i]], line)
	})
}

// items writes n items between brackets, and one after the only item of a tuple.
func (w *writer) items(brackets, one string, n int, line string, item func(i int, line string) error) error {
	w.b.WriteByte(brackets[0])
	inner := line
	if w.lines && n > 0 {
		inner += w.level
	}
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.comma)
		}
		if err := w.begin(inner); err != nil {
			return err
		}
		if err := item(i, inner); err != nil {
			return err
		}
	}
	w.b.WriteString(one)
	if n > 0 {
		if err := w.begin(line); err != nil {
			return err
		}
	}
	w.b.WriteByte(brackets[1])
	return nil
}

// begin begins a line, if items are in lines.
func (w *writer) begin(line string) error {
	if !w.lines {
		return nil
	}
	if err := w.spend(4 * len(line)); err != nil {
		return err
	}
	w.b.WriteString(line)
	return nil
}

func (w *writer) string(t Text) error {
	if err := w.each(len(t.S), 20); err != nil { // as many as a control character takes, while the buffer grows
		return err
	}
	if by := strings.TrimLeft(t.By, string(rune(ByTemplate))); by != "" && w.by == ByTemplate {
		w.by = by[0]
	}
	w.quote(&w.b, t.S)
	return nil
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
