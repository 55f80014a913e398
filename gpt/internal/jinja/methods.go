package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// method returns a method of a value.
func method(v any, name string) (m any, ok bool) {
	switch v := v.(type) {
	case Text:
		if m, ok := textMethods()[name]; ok {
			return function(func(f *frame, args []any, _ map[string]any) (any, error) {
				if err := f.make(len(v.S)); err != nil {
					return nil, err
				}
				got, err := m(f, v, args)
				return got, errors.WithMessage(err, name)
			}), true
		}
	case map[string]any:
		return objectMethod(v, name)
	}
	return nil, false
}

// objectMethod returns a method of an object, as Python's dict has it.
func objectMethod(object map[string]any, name string) (any, bool) {
	switch name {
	case "get":
		return function(func(_ *frame, args []any, _ map[string]any) (any, error) {
			key, _ := first(args).(Text)
			if value, ok := object[key.S]; ok {
				return value, nil
			}
			if len(args) > 1 {
				return args[1], nil
			}
			return nil, nil
		}), true
	case "items":
		return function(func(f *frame, _ []any, _ map[string]any) (any, error) {
			return pairs(f, object, nil, nil)
		}), true
	case "keys":
		return function(func(f *frame, _ []any, _ map[string]any) (any, error) { return f.items(object) }), true
	case "values":
		return function(func(f *frame, _ []any, _ map[string]any) (any, error) {
			names, err := f.items(object)
			list := make([]any, len(names))
			for i, n := range names {
				list[i] = object[n.(Text).S]
			}
			return list, err
		}), true
	}
	return nil, false
}

// textMethods returns the methods of texts, as Python's str has them.
func textMethods() map[string]func(f *frame, t Text, args []any) (any, error) {
	strip := func(left, right bool) func(*frame, Text, []any) (any, error) {
		return func(_ *frame, t Text, args []any) (any, error) {
			is := unicode.IsSpace
			if set, ok := first(args).(Text); ok {
				is = func(r rune) bool { return strings.ContainsRune(set.S, r) }
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
	begins := func(has func(s, part string) bool) func(*frame, Text, []any) (any, error) {
		return func(_ *frame, t Text, args []any) (any, error) {
			parts, ok := first(args).([]any)
			if !ok {
				parts = []any{first(args)}
			}
			return slices.ContainsFunc(parts, func(p any) bool {
				part, ok := p.(Text)
				return ok && has(t.S, part.S)
			}), nil
		}
	}
	// cased changes each letter to one that may have another length; before is the letter before it.
	cased := func(change func(r, before rune) rune) func(*frame, Text, []any) (any, error) {
		return func(_ *frame, t Text, _ []any) (any, error) {
			var s, by strings.Builder
			before := rune(-1)
			for at, r := range t.S {
				c := change(r, before)
				s.WriteRune(c)
				by.WriteString(strings.Repeat(t.By[at:at+1], utf8.RuneLen(c)))
				before = r
			}
			return Text{s.String(), by.String()}, nil
		}
	}
	return map[string]func(*frame, Text, []any) (any, error){
		"strip": strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"startswith": begins(strings.HasPrefix), "endswith": begins(strings.HasSuffix),
		"upper": cased(func(r, _ rune) rune { return unicode.ToUpper(r) }),
		"lower": cased(func(r, _ rune) rune { return unicode.ToLower(r) }),
		"capitalize": cased(func(r, before rune) rune {
			if before < 0 {
				return unicode.ToUpper(r)
			}
			return unicode.ToLower(r)
		}),
		"title": cased(func(r, before rune) rune {
			if unicode.IsLetter(before) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}),
		"find": func(_ *frame, t Text, args []any) (any, error) {
			part, _ := first(args).(Text)
			at := strings.Index(t.S, part.S)
			if at > 0 {
				at = utf8.RuneCountInString(t.S[:at])
			}
			return at, nil
		},
		"split": split, "replace": replaced,
		"join": func(f *frame, t Text, args []any) (any, error) { return joined(f, first(args), []any{t}, nil) },
	}
}

// split returns the parts of a text between separators, or between blanks.
func split(f *frame, t Text, args []any) (any, error) {
	most := -1
	if len(args) > 1 {
		most, _ = args[1].(int)
	}
	list := []any{}
	separator, given := first(args).(Text)
	if given && separator.S == "" {
		return nil, errors.New("got an empty separator")
	}
	for most < 0 || len(list) < most {
		if !given {
			t = t.slice(len(t.S)-len(strings.TrimLeftFunc(t.S, unicode.IsSpace)), len(t.S))
		}
		at, n := strings.Index(t.S, separator.S), len(separator.S)
		if !given {
			at, n = strings.IndexFunc(t.S, unicode.IsSpace), 0
		}
		if at < 0 {
			break
		}
		if err := f.step(1); err != nil {
			return nil, err
		}
		list = append(list, t.slice(0, at))
		t = t.slice(at+n, len(t.S))
	}
	if given || t.S != "" {
		list = append(list, t)
	}
	return list, nil
}

// replaced returns a text with a part replaced wherever it occurs.
func replaced(f *frame, t Text, args []any) (any, error) {
	if len(args) != 2 {
		return nil, errors.Errorf("got %d arguments, want 2", len(args))
	}
	old, ok := args[0].(Text)
	with, both := args[1].(Text)
	if !ok || !both || old.S == "" {
		return nil, errors.New("want two texts, the first not empty")
	}
	n := strings.Count(t.S, old.S)
	if err := f.make(len(t.S) + n*len(with.S)); err != nil {
		return nil, err
	}
	var s, by strings.Builder
	for range n {
		at := strings.Index(t.S, old.S)
		s.WriteString(t.S[:at] + with.S)
		by.WriteString(t.By[:at] + with.By)
		t = t.slice(at+len(old.S), len(t.S))
	}
	return Text{s.String() + t.S, by.String() + t.By}, nil
}
