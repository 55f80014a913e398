package jinja

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// maxIndent is the largest number of spaces of a level.
const maxIndent = 100

// tojson writes a value as Python's json.dumps does with ensure_ascii=False, except that the names of an object are in
// alphabetical order. With indent, a number of spaces or a text, every item is in a line of its own. Other arguments
// that change the text are an error. If a user has written some of the value, all counts as written by the user.
func tojson(f *frame, v any, args []any, named map[string]any) (any, error) {
	w := writer{f: f, comma: ", "}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		switch value := named[name]; {
		case name == "indent":
			if err := w.indent(value); err != nil {
				return nil, err
			}
		case name == "ensure_ascii" && !truth(value), name == "separators" && value == nil, name == "sort_keys":
		default:
			return nil, errors.Errorf("tojson: %.32s is not supported", name)
		}
	}
	if len(args) > 0 {
		return nil, errors.New("tojson: want names of arguments, such as indent=2")
	}
	if err := w.write(v, "\n"); err != nil {
		return nil, err
	}
	return By(author(v), w.text.String()), f.make(w.text.Len())
}

// writer writes values as JSON.
type writer struct {
	f     *frame
	text  strings.Builder
	lines bool
	level string // the indent of a level
	comma string // between two items
}

// indent sets the indent of a level, none for nil.
func (w *writer) indent(v any) error {
	n := 0
	switch v := v.(type) {
	case nil:
		return nil
	case Text:
		w.level = v.S
	case bool:
		n = map[bool]int{true: 1}[v]
	case int:
		n = v
	default:
		return errors.Errorf("tojson: indent: got %s, want a whole number or a text", typeOf(v))
	}
	if n > maxIndent || len(w.level) > maxIndent {
		return errors.Errorf("tojson: indent: got %d, want at most %d", max(n, len(w.level)), maxIndent)
	}
	w.lines, w.comma, w.level = true, ",", w.level+strings.Repeat(" ", max(0, n))
	return nil
}

// write writes a value, whose last line begins with the given line end and indent.
func (w *writer) write(v any, line string) error {
	if err := w.f.step(1); err != nil {
		return err
	}
	switch v := v.(type) {
	case []any:
		return w.items("[]", len(v), line, func(i int, line string) error { return w.write(v[i], line) })
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		return w.items("{}", len(v), line, func(i int, line string) error {
			if err := w.quote(names[i]); err != nil {
				return err
			}
			w.text.WriteString(": ")
			return w.write(v[names[i]], line)
		})
	case Text:
		return w.quote(v.S)
	case float64:
		number := strings.NewReplacer("nan", "NaN", "inf", "Infinity").Replace(repr(v))
		w.text.WriteString(number)
		return nil
	case nil, bool, int:
		data, err := json.Marshal(v)
		w.text.Write(data)
		return err
	}
	return errors.Errorf("cannot write %s as JSON", typeOf(v))
}

// items writes n items between brackets.
func (w *writer) items(brackets string, n int, line string, item func(i int, line string) error) error {
	w.text.WriteByte(brackets[0])
	inner := line
	if w.lines && n > 0 {
		if err := w.f.make(len(line) + len(w.level)); err != nil {
			return err
		}
		inner += w.level
	}
	for i := range n {
		if i > 0 {
			w.text.WriteString(w.comma)
		}
		if err := w.begin(inner); err != nil {
			return err
		}
		if err := item(i, inner); err != nil {
			return err
		}
	}
	if n > 0 {
		if err := w.begin(line); err != nil {
			return err
		}
	}
	w.text.WriteByte(brackets[1])
	return nil
}

// begin begins a line, if items are in lines.
func (w *writer) begin(line string) error {
	if !w.lines {
		return nil
	}
	w.text.WriteString(line)
	return w.f.make(len(line))
}

// quote writes a text. Only quotes, backslashes and control characters are escaped.
func (w *writer) quote(s string) error {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}
	before := w.text.Len()
	w.text.WriteByte('"')
	for _, c := range s {
		switch escaped := short[c]; {
		case escaped != "":
			w.text.WriteString(escaped)
		case c < ' ':
			const digits = "0123456789abcdef"
			w.text.WriteString(`\u00`)
			w.text.WriteByte(digits[c>>4])
			w.text.WriteByte(digits[c&15])
		default:
			w.text.WriteRune(c)
		}
	}
	w.text.WriteByte('"')
	return w.f.make(w.text.Len() - before)
}

// repr returns a number as Python's repr does: in the fewest digits, with an exponent below 10⁻⁴ and from 10¹⁶.
func repr(x float64) string {
	switch size := math.Abs(x); {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
	case size != 0 && size < 1e-4 || size >= 1e16:
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
