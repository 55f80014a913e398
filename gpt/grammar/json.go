package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// member is a member of an object of JSON, and ordered an object in the order of its text.
type member struct {
	name  string
	value any
}

type ordered []member

func (o ordered) has(name string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.name == name })
}

func (o ordered) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// parsed returns a value of JSON: nil, a bool, a json.Number, a string, []any or ordered.
func parsed(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := next(d, 0)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	return v, errors.WithMessage(err, "schema")
}

// next returns the next value.
func next(d *json.Decoder, nesting int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if nesting == mostNesting {
		return nil, errors.Errorf("more than %d objects and lists inside each other", mostNesting)
	}
	list, object, names := []any{}, ordered{}, map[string]bool{}
	for d.More() {
		var m member
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			m.name, _ = name.(string)
			if names[m.name] {
				return nil, errors.Errorf("%.64q is given twice", m.name)
			}
			names[m.name] = true
		}
		if m.value, err = next(d, nesting+1); err != nil {
			return nil, err
		}
		list, object = append(list, m.value), append(object, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if open == '{' {
		return object, nil
	}
	return list, nil
}

// typeOf returns the type of a value of JSON.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if _, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return "integer"
		}
		return "number"
	}
	return "object"
}

// quoted returns a text in quotes.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) // a text can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// encoded returns a value as a text of JSON.
func encoded(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return quoted(v)
	case []any:
		var list []string
		for _, one := range v {
			list = append(list, encoded(one))
		}
		return "[" + strings.Join(list, ",") + "]"
	case ordered:
		var list []string
		for _, m := range v {
			list = append(list, quoted(m.name)+":"+encoded(m.value))
		}
		return "{" + strings.Join(list, ",") + "}"
	}
	return fmt.Sprint(v) // a number or a bool
}

// shown returns the beginning of a value.
func shown(v any) string {
	s := encoded(v)
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
