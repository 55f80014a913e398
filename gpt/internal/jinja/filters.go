package jinja

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// globals returns the functions that a template can call.
func globals() map[string]any {
	return map[string]any{
		"namespace": function(func(_ *frame, _ []any, named map[string]any) (any, error) {
			return namespace{named}, nil
		}),
		"raise_exception": function(func(f *frame, args []any, _ map[string]any) (any, error) {
			t, _ := first(args).(Text)
			return nil, errors.Errorf("the template refuses this: %.400s", t.S)
		}),
		"range": function(numbers),
		"strftime_now": function(func(_ *frame, args []any, _ map[string]any) (any, error) {
			t, _ := first(args).(Text)
			return date(t.S, time.Now())
		}),
	}
}

func first(args []any) any {
	if len(args) == 0 {
		return undefined{"an argument"}
	}
	return args[0]
}

// numbers returns range(to), range(from, to) or range(from, to, step).
func numbers(f *frame, args []any, _ map[string]any) (any, error) {
	at := []int{0, 0, 1}
	for i, a := range args {
		n, ok := a.(int)
		if !ok || len(args) > 3 {
			return nil, errors.Errorf("range: got %s, want one to three whole numbers", typeOf(a))
		}
		at[i] = n
	}
	if len(args) == 1 {
		at[0], at[1] = 0, at[0]
	}
	if len(args) == 0 || at[2] == 0 {
		return nil, errors.New("range: want one to three numbers, the last not 0")
	}
	var list []any
	for i := at[0]; i < at[1] && at[2] > 0 || i > at[1] && at[2] < 0; i += at[2] {
		if err := f.step(1); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

// date writes a time as C's strftime does.
func date(format string, now time.Time) (Text, error) {
	layouts := map[byte]string{'d': "02", 'm': "01", 'Y': "2006", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon",
		'A': "Monday", 'H': "15", 'M': "04", 'S': "05", 'I': "03", 'p': "PM", '%': "%"}
	var s strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			s.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := layouts[format[i]]
		if !ok {
			return Text{}, errors.Errorf("strftime_now: unknown mark %%%c", format[i])
		}
		s.WriteString(now.Format(layout))
	}
	return plain(s.String()), nil
}

// filter changes a value.
type filter func(f *frame, v any, args []any, named map[string]any) (any, error)

// filters returns the filters by name.
func filters() map[string]filter {
	ofText := func(name string) filter {
		return func(f *frame, v any, args []any, _ map[string]any) (any, error) {
			t, err := f.show(v)
			if err != nil {
				return nil, err
			}
			m, _ := method(t, name)
			return m.(function)(f, args, nil)
		}
	}
	length := func(f *frame, v any, _ []any, _ map[string]any) (any, error) {
		if object, ok := v.(map[string]any); ok {
			return len(object), nil
		}
		list, err := f.items(v)
		return len(list), err
	}
	or := func(_ *frame, v any, args []any, named map[string]any) (any, error) {
		_, missing := v.(undefined)
		falsy := len(args) > 1 && truth(args[1]) || truth(named["boolean"])
		if missing || falsy && !truth(v) {
			if len(args) == 0 {
				return Text{}, nil
			}
			return args[0], nil
		}
		return v, nil
	}
	same := func(_ *frame, v any, _ []any, _ map[string]any) (any, error) { return v, nil }
	list := func(f *frame, v any, _ []any, _ map[string]any) (any, error) { return f.items(v) }
	end := func(last bool) filter {
		return func(f *frame, v any, _ []any, _ map[string]any) (any, error) {
			list, err := f.items(v)
			switch {
			case err != nil || len(list) == 0:
				return undefined{"the first item of nothing"}, err
			case last:
				return list[len(list)-1], nil
			}
			return list[0], nil
		}
	}
	return map[string]filter{
		"trim": ofText("strip"), "upper": ofText("upper"), "lower": ofText("lower"), "capitalize": ofText("capitalize"),
		"title": ofText("title"), "replace": ofText("replace"),
		"length": length, "count": length, "default": or, "d": or, "safe": same, "list": list, "first": end(false),
		"last": end(true), "join": joined, "items": pairs,
		"tojson": tojson,
		"string": func(f *frame, v any, _ []any, _ map[string]any) (any, error) { return f.show(v) },
		"int": func(f *frame, v any, _ []any, _ map[string]any) (any, error) {
			if t, ok := v.(Text); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(t.S))
				return n, nil
			}
			x, _, _ := numeric(v)
			return int(x), nil
		},
		"reverse": func(f *frame, v any, _ []any, _ map[string]any) (any, error) {
			list, err := f.items(v)
			list = slices.Clone(list)
			slices.Reverse(list)
			return list, err
		},
		"map": attributes, "selectattr": chosen(true, true), "rejectattr": chosen(false, true),
		"select": chosen(true, false), "reject": chosen(false, false),
	}
}

// joined returns the texts of a list with a separator between them.
func joined(f *frame, v any, args []any, _ map[string]any) (any, error) {
	list, err := f.items(v)
	if err != nil {
		return nil, err
	}
	between, _ := first(args).(Text)
	var text, by strings.Builder
	for i, e := range list {
		t, err := f.show(e)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteString(between.S)
			by.WriteString(between.By)
		}
		text.WriteString(t.S)
		by.WriteString(t.By)
		if err := f.make(len(between.S) + len(t.S)); err != nil {
			return nil, err
		}
	}
	return Text{text.String(), by.String()}, nil
}

// pairs returns the names and values of an object.
func pairs(f *frame, v any, _ []any, _ map[string]any) (any, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.Errorf("got %s, want an object", typeOf(v))
	}
	names, err := f.items(object)
	list := make([]any, len(names))
	for i, n := range names {
		list[i] = []any{n, object[n.(Text).S]}
	}
	return list, err
}

// attributes returns that attribute of each item.
func attributes(f *frame, v any, _ []any, named map[string]any) (any, error) {
	key, ok := named["attribute"].(Text)
	if !ok {
		return nil, errors.New("want attribute=NAME")
	}
	list, err := f.items(v)
	values := make([]any, 0, len(list))
	for _, e := range list {
		value, err := attribute(constant(e), constant(key))(f)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, err
}

// chosen returns the filter that keeps the items that pass a test, or those that do not: their attribute, if byName.
func chosen(keep, byName bool) filter {
	return func(f *frame, v any, args []any, _ map[string]any) (any, error) {
		value := func(e any) (any, error) { return e, nil }
		if byName {
			key, ok := first(args).(Text)
			if !ok {
				return nil, errors.New("want the name of an attribute")
			}
			args = args[1:]
			value = func(e any) (any, error) { return attribute(constant(e), constant(key))(f) }
		}
		is := test(func(_ *frame, v any, _ []any) bool { return truth(v) })
		if len(args) > 0 {
			called, _ := args[0].(Text)
			if is = tests()[called.S]; is == nil {
				return nil, errors.Errorf("unknown test %.32q", called.S)
			}
			args = args[1:]
		}
		list, err := f.items(v)
		kept := []any{}
		for _, e := range list {
			v, err := value(e)
			if err != nil {
				return nil, err
			}
			if is(f, v, args) == keep {
				kept = append(kept, e)
			}
		}
		return kept, err
	}
}

// test is a test of a value, with arguments.
type test func(f *frame, v any, args []any) bool

// tests returns the tests of a is b by name.
func tests() map[string]test {
	undefinedIs := func(_ *frame, v any, _ []any) bool { _, is := v.(undefined); return is }
	of := func(kinds ...string) test {
		return func(_ *frame, v any, _ []any) bool { return slices.Contains(kinds, typeOf(v)) }
	}
	same := func(f *frame, v any, args []any) bool { return f.equal(v, first(args)) }
	return map[string]test{
		"undefined": undefinedIs,
		"defined":   func(f *frame, v any, _ []any) bool { return !undefinedIs(f, v, nil) },
		"none":      of("none"), "string": of("a text"), "number": of("a number", "a truth value"),
		"integer": func(_ *frame, v any, _ []any) bool { _, is := v.(int); return is },
		"boolean": of("a truth value"), "mapping": of("an object"), "callable": of("a function"),
		"iterable": of("a list", "a text", "an object"), "sequence": of("a list", "a text", "an object"),
		"true":    func(_ *frame, v any, _ []any) bool { return v == true },
		"false":   func(_ *frame, v any, _ []any) bool { return v == false },
		"equalto": same, "eq": same,
		"in": func(f *frame, v any, args []any) bool { in, _ := f.contains(first(args), v); return in },
	}
}
