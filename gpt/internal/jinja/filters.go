package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// filters returns the filters by name.
func filters() map[string]row {
	length := row{"", func(f *frame, v any, _ args) (any, error) { return f.length(v) }}
	otherwise := row{"default_value boolean", func(_ *frame, v any, a args) (any, error) {
		if _, missing := v.(undefined); !missing && (truth(v) || !a.truth(1)) {
			return v, nil
		}
		if !a.given(0) {
			return Text{}, nil
		}
		return a.at[0], nil
	}}
	escape := row{"", func(f *frame, v any, _ args) (any, error) {
		t, err := f.show(v)
		if err != nil || t.safe {
			return t, err
		}
		return f.escape(t)
	}}
	return map[string]row{
		"trim": method("chars", "strip"), "upper": method("", "upper"), "lower": method("", "lower"),
		"capitalize": method("", "capitalize"), "replace": method("s new count", "replace"), "title": {"", titled},
		"format": {"*", func(f *frame, v any, a args) (any, error) {
			t, err := f.show(v)
			if err != nil {
				return nil, err
			}
			return f.printf(t, a.more)
		}},
		"indent": {"width first blank", indented},
		"length": length, "count": length, "default": otherwise, "d": otherwise, "escape": escape, "e": escape,
		"safe": {"", func(f *frame, v any, _ args) (any, error) {
			t, err := f.show(v)
			t.safe = true
			return t, err
		}},
		"list": {"", func(f *frame, v any, _ args) (any, error) {
			list, err := f.items(v)
			if err == nil {
				err = f.each(len(list), 16)
			}
			return append([]any{}, list...), err
		}},
		"first": {"", func(f *frame, v any, _ args) (any, error) { return f.end(v, 0) }},
		"last":  {"", func(f *frame, v any, _ args) (any, error) { return f.end(v, -1) }},
		"join":  {"d attribute", joined}, "items": {"", pairs}, "dictsort": {"case_sensitive by reverse", dictsort},
		"tojson": {"ensure_ascii indent separators sort_keys", tojson},
		"string": {"", func(f *frame, v any, _ args) (any, error) { return f.show(v) }},
		"int":    {"default base", toInt}, "float": {"default", toFloat}, "round": {"precision method", rounded},
		"abs": {"", func(f *frame, v any, _ args) (any, error) {
			if x, ok := numeric(v); ok && x >= 0 {
				return v, nil
			}
			return f.binary("*", v, -1)
		}},
		"reverse": {"", reversed}, "batch": {"linecount fill_with", batch}, "sum": {"attribute start", total},
		"sort": {"reverse case_sensitive attribute", sorted}, "unique": {"case_sensitive attribute", unique},
		"min": {"case_sensitive attribute", extreme(-1)}, "max": {"case_sensitive attribute", extreme(1)},
		"map": {"* **", mapped}, "selectattr": {"*", chosen(true, true)}, "rejectattr": {"*", chosen(false, true)},
		"select": {"*", chosen(true, false)}, "reject": {"*", chosen(false, false)},
	}
}

// method returns the filter that calls a method of a text with those parameters.
func method(params, name string) row {
	return row{params, func(f *frame, v any, a args) (any, error) {
		t, err := f.show(v)
		if err != nil {
			return nil, err
		}
		return f.tables.texts[name].do(f, t, a)
	}}
}

// end returns the first item for 0, and the last one for -1.
func (f *frame) end(v any, i int) (any, error) {
	if t, ok := v.(Text); ok {
		return f.letter(t, i)
	}
	list, err := f.items(v)
	if err != nil || len(list) == 0 {
		return undefined{"the first item of nothing"}, err
	}
	return list[(len(list)+i)%len(list)], nil
}

// path returns the value at a path of attributes, a.b.0.
func (f *frame) path(v, path any) (any, error) {
	if i, ok := path.(int); ok {
		return f.item(v, i)
	}
	t, ok := path.(Text)
	if !ok {
		return v, nil
	}
	if err := f.each(len(t.S), 4); err != nil {
		return nil, err
	}
	for part := range strings.SplitSeq(t.S, ".") {
		var key any = plain(part)
		if i, err := strconv.Atoi(part); err == nil {
			key = i
		}
		var err error
		if v, err = f.item(v, key); err == nil {
			err = f.step()
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// paths returns the items of a value, and of each the value at a path: in lower case, unless cased.
func (f *frame) paths(v, path any, cased bool) (items, values []any, err error) {
	if items, err = f.items(v); err != nil {
		return nil, nil, err
	}
	if err := f.each(len(items), 64); err != nil {
		return nil, nil, err
	}
	values = make([]any, len(items))
	for i, e := range items {
		if values[i], err = f.path(e, path); err != nil {
			return nil, nil, err
		}
		if t, ok := values[i].(Text); ok && !cased {
			if values[i], err = f.tables.texts["lower"].do(f, t, args{}); err != nil {
				return nil, nil, err
			}
		}
	}
	return items, values, nil
}

// sort sorts indices by their keys, those of equal keys in their order.
func (r *run) sort(order []int, key func(i int) any, backwards bool) (err error) {
	slices.SortStableFunc(order, func(i, j int) int {
		c, wrong := r.compare(key(i), key(j))
		if err == nil {
			err = wrong
		}
		if backwards {
			c = -c
		}
		return c
	})
	return err
}

// joined returns the texts of a list with a separator between them.
func joined(f *frame, v any, a args) (any, error) {
	between, err := f.show(a.at[0])
	if err != nil {
		return nil, err
	}
	_, list, err := f.paths(v, a.at[1], true)
	var parts []Text
	for i, e := range list {
		t, err := f.show(e)
		if err == nil {
			err = f.step()
		}
		if err != nil {
			return nil, err
		}
		if i > 0 {
			parts = append(parts, between)
		}
		t.safe = false
		parts = append(parts, t)
	}
	if err != nil {
		return nil, err
	}
	return f.concat(parts)
}

// pairs returns the keys and values of an object.
func pairs(f *frame, v any, _ args) (any, error) {
	if _, missing := v.(undefined); missing {
		return []any{}, nil
	}
	o, ok := v.(*Object)
	if !ok {
		return nil, errors.Errorf("got %s, want an object", typeOf(v))
	}
	if err := f.each(len(o.keys), 96); err != nil {
		return nil, err
	}
	list := make([]any, len(o.keys))
	for i, key := range o.keys {
		list[i] = tuple{key, o.values[i]}
	}
	return list, nil
}

// dictsort returns the keys and values of an object, sorted by the keys or the values.
func dictsort(f *frame, v any, a args) (any, error) {
	by, err := a.text(1, "key")
	at := slices.Index([]string{"key", "value"}, by.S)
	if err == nil && at < 0 {
		err = errors.Errorf("by: got %.32q, want key or value", by.S)
	}
	if err != nil {
		return nil, err
	}
	list, err := pairs(f, v, args{})
	if err != nil {
		return nil, err
	}
	return f.sorted(list, at, a.truth(0), a.truth(2))
}

// sorted returns the items of a list, sorted by the values at a path.
func sorted(f *frame, v any, a args) (any, error) {
	return f.sorted(v, a.at[2], a.truth(1), a.truth(0))
}

func (f *frame) sorted(v, path any, cased, backwards bool) (any, error) {
	items, keys, err := f.paths(v, path, cased)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	if err := f.sort(order, func(i int) any { return keys[i] }, backwards); err != nil {
		return nil, err
	}
	list := make([]any, len(items))
	for i, from := range order {
		list[i] = items[from]
	}
	return list, nil
}

// unique returns the first item of each value at a path.
func unique(f *frame, v any, a args) (any, error) {
	items, keys, err := f.paths(v, a.at[1], a.truth(0))
	seen := &Object{}
	list := []any{}
	for i, key := range keys {
		if _, twice, err := f.get(seen, key); twice || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		if err := f.put(seen, key, nil); err != nil {
			return nil, err
		}
		list = append(list, items[i])
	}
	return list, err
}

// extreme returns the filter that returns the smallest item for -1, and the largest for 1.
func extreme(sign int) func(f *frame, v any, a args) (any, error) {
	return func(f *frame, v any, a args) (any, error) {
		items, keys, err := f.paths(v, a.at[1], a.truth(0))
		if err != nil || len(items) == 0 {
			return undefined{"an item of nothing"}, err
		}
		best := 0
		for i := range items {
			order, err := f.compare(keys[i], keys[best])
			if err != nil {
				return nil, err
			}
			if order == sign {
				best = i
			}
		}
		return items[best], nil
	}
}

// total returns the sum of the values at a path.
func total(f *frame, v any, a args) (any, error) {
	_, values, err := f.paths(v, a.at[0], true)
	sum := any(0)
	if a.given(1) {
		sum = a.at[1]
	}
	for _, x := range values {
		if err == nil {
			sum, err = f.binary("+", sum, x)
		}
	}
	return sum, err
}

// batch returns lists of a number of items each, the last one filled up unless fill_with is none.
func batch(f *frame, v any, a args) (any, error) {
	n, err := a.whole(0, 0)
	if err == nil && n < 1 {
		err = errors.Errorf("linecount: got %d, want at least 1", n)
	}
	if err != nil {
		return nil, err
	}
	items, err := f.items(v)
	if err != nil {
		return nil, err
	}
	lists := []any{}
	for len(items) > 0 {
		list := slices.Clone(items[:min(n, len(items))])
		items = items[len(list):]
		if a.given(1) && a.at[1] != nil && len(list) < n {
			if err := f.each(n, 16); err != nil {
				return nil, err
			}
			list = append(list, slices.Repeat([]any{a.at[1]}, n-len(list))...)
		}
		if err := f.each(len(list)+8, 16); err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// reversed returns the items, or the characters of a text, in the opposite order.
func reversed(f *frame, v any, _ args) (any, error) {
	if t, ok := v.(Text); ok {
		n, err := f.length(t)
		if err != nil {
			return nil, err
		}
		return f.letters(t, n-1, n, -1)
	}
	list, err := f.items(v)
	if err == nil {
		err = f.each(len(list), 16)
	}
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	return list, nil
}

// toInt returns a whole number, or else the default.
func toInt(f *frame, v any, a args) (any, error) {
	base, err := a.whole(1, 10)
	if err != nil || base != 0 && (base < 2 || base > 36) {
		return nil, errors.Errorf("base: got %v, want 0 or 2 to 36", a.at[1])
	}
	if t, ok := v.(Text); ok {
		if err := f.each(len(t.S), 4); err != nil {
			return nil, err
		}
		s := strings.ReplaceAll(strings.TrimFunc(t.S, isSpace), "_", "")
		if n, err := strconv.ParseInt(s, base, 64); err == nil {
			return int(n), nil
		}
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			v = x
		}
	}
	if n, ok := wholeOf(v); ok {
		return n, nil
	}
	if x, ok := v.(float64); ok && math.Abs(x) < 1<<63 {
		return int(x), nil
	}
	if a.given(0) {
		return a.at[0], nil
	}
	return 0, nil
}

// toFloat returns a number, or else the default.
func toFloat(f *frame, v any, a args) (any, error) {
	if t, ok := v.(Text); ok {
		if err := f.each(len(t.S), 4); err != nil {
			return nil, err
		}
		if x, err := strconv.ParseFloat(strings.TrimFunc(t.S, isSpace), 64); err == nil {
			return x, nil
		}
	}
	if x, ok := numeric(v); ok {
		return x, nil
	}
	if a.given(0) {
		return a.at[0], nil
	}
	return 0.0, nil
}

// rounded returns a number with precision digits after the point.
func rounded(_ *frame, v any, a args) (any, error) {
	digits, err := a.whole(0, 0)
	how, wrong := a.text(1, "common")
	x, ok := numeric(v)
	switch {
	case err != nil || wrong != nil || digits < -300 || digits > 300:
		return nil, errors.New("want a precision of -300 to 300, and a method")
	case !ok:
		return nil, errors.Errorf("got %s, want a number", typeOf(v))
	}
	scale := math.Pow10(digits)
	switch how.S {
	case "ceil":
		return math.Ceil(x*scale) / scale, nil
	case "floor":
		return math.Floor(x*scale) / scale, nil
	case "common":
		if n, whole := wholeOf(v); whole && digits >= 0 {
			return n, nil
		} else if whole {
			return int(math.RoundToEven(x*scale) / scale), nil
		}
		if digits < 0 {
			return math.RoundToEven(x*scale) / scale, nil
		}
		return strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
	}
	return nil, errors.Errorf("method: got %.32q, want common, ceil or floor", how.S)
}

// mapped returns an attribute of each item, or each item after a filter.
func mapped(f *frame, v any, a args) (any, error) {
	items, err := f.items(v)
	if err != nil {
		return nil, err
	}
	attribute, byName, _ := f.get(a.named, plain("attribute"))
	otherwise, hasDefault, _ := f.get(a.named, plain("default"))
	called, _ := first(a.more).(Text)
	if err := f.reads(called); err != nil {
		return nil, err
	}
	filter, known := f.tables.filters[called.S]
	if !byName && !known {
		return nil, errors.Errorf("unknown filter %.32q", called.S)
	}
	var list []argument
	if !byName {
		for _, v := range a.more[1:] {
			list = append(list, argument{value: v})
		}
		for i, key := range a.named.keys {
			list = append(list, argument{key.(Text).S, a.named.values[i]})
		}
	}
	if err := f.each(len(items), 16); err != nil {
		return nil, err
	}
	values := make([]any, len(items))
	for i, e := range items {
		if byName {
			e, err = f.path(e, attribute)
			if _, missing := e.(undefined); missing && hasDefault {
				e = otherwise
			}
		} else {
			e, err = filter.apply(f, called.S, e, list)
		}
		if err == nil {
			err = f.step()
		}
		if err != nil {
			return nil, err
		}
		values[i] = e
	}
	return values, nil
}

func first(list []any) any {
	if len(list) == 0 {
		return undefined{"an argument"}
	}
	return list[0]
}

// chosen returns the filter that keeps the items that pass a test, or those that do not: their attribute, if byName.
func chosen(keep, byName bool) func(f *frame, v any, a args) (any, error) {
	return func(f *frame, v any, a args) (any, error) {
		var path any
		if byName {
			if path = first(a.more); typeOf(path) != "a text" {
				return nil, errors.New("want the name of an attribute")
			}
			a.more = a.more[1:]
		}
		called := ""
		var is row
		var list []argument
		for i, v := range a.more {
			if t, ok := v.(Text); i == 0 && ok {
				called = t.S
			} else {
				list = append(list, argument{value: v})
			}
		}
		if err := f.spend(len(called)); err != nil {
			return nil, err
		}
		if is = f.tables.tests[called]; len(a.more) > 0 && is.do == nil {
			return nil, errors.Errorf("unknown test %.32q", called)
		}
		items, values, err := f.paths(v, path, true)
		kept := []any{}
		for i, e := range items {
			v := values[i]
			if is.do != nil {
				if v, err = is.apply(f, called, v, list); err != nil {
					return nil, err
				}
			}
			if err := f.step(); err != nil {
				return nil, err
			}
			if truth(v) == keep {
				kept = append(kept, e)
			}
		}
		return kept, err
	}
}
