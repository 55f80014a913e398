package jinja

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// truth reports whether a value counts as true.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case bool:
		return v
	case int:
		return v != 0
	case float64:
		return v != 0
	case Text:
		return v.S != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

func numeric(v any) (x float64, whole, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true, true
	case float64:
		return v, false, true
	case bool:
		if v {
			return 1, true, true
		}
		return 0, true, true
	}
	return 0, false, false
}

// equal compares two values. When the evaluation has run out of steps it returns false, and the next step fails.
func (r *run) equal(a, b any) bool {
	if r.step(1) != nil {
		return false
	}
	if x, _, ok := numeric(a); ok {
		y, _, both := numeric(b)
		return both && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case Text:
		t, ok := b.(Text)
		return ok && a.S == t.S
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, r.equal)
	case map[string]any:
		object, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, object, r.equal)
	case undefined:
		_, ok := b.(undefined)
		return ok
	}
	return false
}

func (r *run) contains(in, v any) (bool, error) {
	switch in := in.(type) {
	case Text:
		if t, ok := v.(Text); ok {
			return strings.Contains(in.S, t.S), nil
		}
	case []any:
		return slices.ContainsFunc(in, func(e any) bool { return r.equal(e, v) }), nil
	case map[string]any:
		t, ok := v.(Text)
		_, has := in[t.S]
		return ok && has, nil
	case undefined:
		return false, nil
	}
	return false, errors.Errorf("cannot find %s in %s", typeOf(v), typeOf(in))
}

// letters returns the characters of a text.
func letters(t Text) (list []any) {
	for at := 0; at < len(t.S); {
		_, n := utf8.DecodeRuneInString(t.S[at:])
		list = append(list, t.slice(at, at+n))
		at += n
	}
	return list
}

// items returns the values of a loop: the elements of a list, the letters of a text or the names in an object.
func (f *frame) items(v any) (list []any, err error) {
	switch v := v.(type) {
	case []any:
		list = v
	case Text:
		list = letters(v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, plain(name))
		}
	case undefined:
	default:
		return nil, errors.Errorf("cannot go through %s", typeOf(v))
	}
	return list, f.step(len(list))
}

// show returns the text of a value.
func (f *frame) show(v any) (Text, error) {
	switch v := v.(type) {
	case Text:
		return v, nil
	case nil:
		return plain("None"), nil
	case undefined:
		return Text{}, nil
	case bool:
		return plain(map[bool]string{true: "True", false: "False"}[v]), nil
	case int:
		return plain(strconv.Itoa(v)), nil
	case float64:
		return plain(repr(v)), nil
	}
	return Text{}, errors.Errorf("cannot write %s as text", typeOf(v))
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case undefined:
		return v.name + ", which is undefined,"
	case bool:
		return "a truth value"
	case int, float64:
		return "a number"
	case Text:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case namespace:
		return "a namespace"
	}
	return "a function"
}

// author returns the author of a value: another one than the template, if there is one.
func author(v any) byte {
	switch v := v.(type) {
	case Text:
		for i := range len(v.By) {
			if v.By[i] != Template {
				return v.By[i]
			}
		}
	case []any:
		for _, e := range v {
			if by := author(e); by != Template {
				return by
			}
		}
	case map[string]any:
		for _, e := range v {
			if by := author(e); by != Template {
				return by
			}
		}
	}
	return Template
}
