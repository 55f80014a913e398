package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// filters returns the filters by name.
func filters() map[string]row {
	length := row{"", func(f *frame, v any, _ args) any { return f.length(v) }}
	otherwise := row{"default_value boolean", func(_ *frame, v any, a args) any {
		if _, missing := v.(undefined); !missing && (truth(v) || !a.truth(1)) {
			return v
		}
		if !a.given(0) {
			return Text{}
		}
		return a.at[0]
	}}
	escape := row{"", func(f *frame, v any, _ args) any {
		t := f.show(v)
		if !t.safe {
			t = f.escape(t)
		}
		return t
	}}
	return map[string]row{
		"trim": method("chars", "strip"), "upper": method("", "upper"), "lower": method("", "lower"),
		"capitalize": method("", "capitalize"), "replace": method("s new count", "replace"), "title": {"", titled},
		"indent": {"width first blank", indented},
		"format": {"*", func(f *frame, v any, a args) any { return f.printf(f.show(v), a.more) }},
		"length": length, "count": length, "default": otherwise, "d": otherwise, "escape": escape, "e": escape,
		"safe": {"", func(f *frame, v any, _ args) any {
			t := f.show(v)
			t.safe = true
			return t
		}},
		"string": {"", func(f *frame, v any, _ args) any { return f.show(v) }},
		"int":    {"default base", toInt}, "float": {"default", toFloat}, "round": {"precision method", rounded},
		"abs": {"", func(f *frame, v any, _ args) any {
			if x, ok := numeric(v); ok && x >= 0 {
				return v
			}
			return f.binary("*", v, -1)
		}},
		"list":  {"", func(f *frame, v any, _ args) any { return f.copied(v) }},
		"first": {"", func(f *frame, v any, _ args) any { return f.end(v, 0) }},
		"last":  {"", func(f *frame, v any, _ args) any { return f.end(v, -1) }},
		"join":  {"d attribute", joined}, "items": {"", pairs}, "dictsort": {"case_sensitive by reverse", dictsort},
		"tojson":  {"ensure_ascii indent separators sort_keys", tojson},
		"reverse": {"", reversed}, "batch": {"linecount fill_with", batch},
		"sort": {"reverse case_sensitive attribute", func(f *frame, v any, a args) any {
			return f.sorted(v, a.at[2], a.truth(1), a.truth(0))
		}},
		"unique": {"case_sensitive attribute", unique},
		"sum": {"attribute start", func(f *frame, v any, a args) any {
			_, values := f.paths(v, a.at[0], true)
			sum := any(a.whole(1, 0))
			for _, x := range values {
				sum = f.binary("+", sum, x)
			}
			return sum
		}},
		"min": {"case_sensitive attribute", extreme(-1)}, "max": {"case_sensitive attribute", extreme(1)},
		"map": {"* **", mapped}, "selectattr": {"*", chosen(true, true)}, "rejectattr": {"*", chosen(false, true)},
		"select": {"*", chosen(true, false)}, "reject": {"*", chosen(false, false)},
	}
}

// method returns the filter that calls a method of a text with those parameters.
func method(params, name string) row {
	return row{params, func(f *frame, v any, a args) any { return f.tables.texts[name].do(f, f.show(v), a) }}
}

// end returns the first item for 0, and the last one for -1.
func (f *frame) end(v any, i int) any {
	if t, ok := v.(Text); ok {
		return f.letter(t, i)
	}
	list := f.items(v)
	if len(list) == 0 {
		return undefined{"the first item of nothing"}
	}
	return list[(len(list)+i)%len(list)]
}

// path returns the value at a path of attributes, a.b.0.
func (f *frame) path(v, path any) any {
	if i, ok := path.(int); ok {
		return f.item(v, i)
	}
	t, ok := path.(Text)
	if !ok {
		return v
	}
	f.each(len(t.S), 4)
	for part := range strings.SplitSeq(t.S, ".") {
		f.step()
		var key any = plain(part)
		if i, err := strconv.Atoi(part); err == nil {
			key = i
		}
		v = f.item(v, key)
	}
	return v
}

// paths returns the items of a value, and of each the value at a path: in lower case, unless cased.
func (f *frame) paths(v, path any, cased bool) (items, values []any) {
	items = f.items(v)
	f.each(len(items), 64)
	values = make([]any, len(items))
	for i, e := range items {
		values[i] = f.path(e, path)
		if t, ok := values[i].(Text); ok && !cased {
			values[i] = f.tables.texts["lower"].do(f, t, args{})
		}
	}
	return items, values
}

// order returns the indices of n items.
func (r *run) order(n int) []int {
	r.each(n, 24)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// sort sorts indices by their keys. Indices of equal keys stay in their order.
func (r *run) sort(order []int, keys []any, backwards bool) {
	slices.SortStableFunc(order, func(i, j int) int {
		if backwards {
			return r.compare(keys[j], keys[i])
		}
		return r.compare(keys[i], keys[j])
	})
}

// sorted returns the items of a value, sorted by the values at a path.
func (f *frame) sorted(v, path any, cased, backwards bool) []any {
	items, keys := f.paths(v, path, cased)
	order := f.order(len(items))
	f.sort(order, keys, backwards)
	list := make([]any, len(items))
	for i, from := range order {
		list[i] = items[from]
	}
	return list
}

// joined returns the texts of a list with a separator between them.
func joined(f *frame, v any, a args) any {
	between := f.show(a.at[0])
	_, list := f.paths(v, a.at[1], true)
	var parts []Text
	for i, e := range list {
		f.step()
		if i > 0 {
			parts = append(parts, between)
		}
		t := f.show(e)
		t.safe = false
		parts = append(parts, t)
	}
	return f.concat(parts)
}

// pairs returns the keys and values of an object.
func pairs(f *frame, v any, _ args) any {
	o, ok := v.(*Object)
	if _, missing := v.(undefined); missing {
		o = &Object{}
	} else if !ok {
		panic(failure("got %s, want an object", typeOf(v)))
	}
	f.each(len(o.keys)+1, 96)
	list := make([]any, len(o.keys))
	for i, key := range o.keys {
		list[i] = tuple{key, o.values[i]}
	}
	return list
}

// dictsort returns the keys and values of an object, sorted by the keys or the values.
func dictsort(f *frame, v any, a args) any {
	by := a.text(1, "key").S
	at := slices.Index([]string{"key", "value"}, by)
	if at < 0 {
		panic(failure("by: got %.32q, want key or value", by))
	}
	return f.sorted(pairs(f, v, args{}), at, a.truth(0), a.truth(2))
}

// unique returns the first item of each value at a path.
func unique(f *frame, v any, a args) any {
	items, keys := f.paths(v, a.at[1], a.truth(0))
	seen := &Object{}
	list := []any{}
	for i, key := range keys {
		if _, twice := f.get(seen, key); !twice {
			f.put(seen, key, nil)
			list = append(list, items[i])
		}
	}
	return list
}

// extreme returns the filter that returns the smallest item for -1, and the largest for 1.
func extreme(sign int) func(f *frame, v any, a args) any {
	return func(f *frame, v any, a args) any {
		items, keys := f.paths(v, a.at[1], a.truth(0))
		if len(items) == 0 {
			return undefined{"an item of nothing"}
		}
		best := 0
		for i := range items {
			if f.compare(keys[i], keys[best]) == sign {
				best = i
			}
		}
		return items[best]
	}
}

// batch returns lists of a number of items each, the last one filled up unless fill_with is none.
func batch(f *frame, v any, a args) any {
	n := a.whole(0, 0)
	if n < 1 {
		panic(failure("linecount: got %d, want at least 1", n))
	}
	lists := []any{}
	for items := f.items(v); len(items) > 0; {
		list := f.copied(items[:min(n, len(items))])
		items = items[len(list):]
		if a.given(1) && a.at[1] != nil && len(list) < n {
			f.each(n, 48)
			list = append(list, slices.Repeat([]any{a.at[1]}, n-len(list))...)
		}
		f.spend(160)
		lists = append(lists, list)
	}
	return lists
}

// reversed returns the items, or the characters of a text, in the opposite order.
func reversed(f *frame, v any, _ args) any {
	if t, ok := v.(Text); ok {
		n := f.length(t)
		return f.letters(t, n-1, n, -1)
	}
	list := f.copied(v)
	slices.Reverse(list)
	return list
}

// mapped returns an attribute of each item, or each item after a filter.
func mapped(f *frame, v any, a args) any {
	attribute, byName := f.get(a.named, plain("attribute"))
	otherwise, hasDefault := f.get(a.named, plain("default"))
	called := ""
	var filter row
	var list []argument
	if !byName {
		called, filter, list = f.named(f.tables.filters, a.more)
		for i, key := range a.named.keys {
			list = append(list, argument{key.(Text).S, a.named.values[i]})
		}
	}
	values := f.copied(v)
	for i, e := range values {
		f.step()
		if !byName {
			values[i] = filter.apply(f, called, e, list)
			continue
		}
		values[i] = f.path(e, attribute)
		if _, missing := values[i].(undefined); missing && hasDefault {
			values[i] = otherwise
		}
	}
	return values
}

// named returns the row that the first of some arguments names, and the others.
func (f *frame) named(rows map[string]row, list []any) (called string, r row, others []argument) {
	var t Text
	if len(list) > 0 {
		t, _ = list[0].(Text)
		for _, v := range list[1:] {
			others = append(others, argument{value: v})
		}
	}
	f.reads(t)
	if r = rows[t.S]; r.do == nil {
		panic(failure("unknown filter or test %.32q", t.S))
	}
	return t.S, r, others
}

// chosen returns the filter that keeps the items that pass a test, or those that do not: their attribute, if byName.
func chosen(keep, byName bool) func(f *frame, v any, a args) any {
	return func(f *frame, v any, a args) any {
		var path any
		if byName {
			if len(a.more) == 0 || typeOf(a.more[0]) != "a text" {
				panic(failure("want the name of an attribute"))
			}
			path, a.more = a.more[0], a.more[1:]
		}
		called, is, list := "", row{}, []argument(nil)
		if len(a.more) > 0 {
			called, is, list = f.named(f.tables.tests, a.more)
		}
		items, values := f.paths(v, path, true)
		kept := []any{}
		for i, e := range items {
			f.step()
			v := values[i]
			if is.do != nil {
				v = is.apply(f, called, v, list)
			}
			if truth(v) == keep {
				kept = append(kept, e)
			}
		}
		return kept
	}
}
