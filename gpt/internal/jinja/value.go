package jinja

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// undefined is the value of a name that has none.
type undefined struct{ name string }

// tuple is a list that Python writes in parentheses.
type tuple []any

// namespace is an object whose attributes can be set.
type namespace struct{ *Object }

// function is a value that can be called.
type function func(f *frame, list []argument) any

// Object is a dict: keys and their values in the order in which they were set. The zero value is empty.
type Object struct {
	keys, values []any
	at           map[any]int
}

// Set sets the value of a name that a template has, such as the name of a parameter.
func (o *Object) Set(name Text, value any) { o.set(name, name.S, value) }

func (o *Object) set(key, hash, value any) {
	if i, ok := o.at[hash]; ok {
		o.values[i] = value
		return
	}
	if o.at == nil {
		o.at = map[any]int{}
	}
	o.at[hash] = len(o.keys)
	o.keys, o.values = append(o.keys, key), append(o.values, value)
}

// get returns the value of a key.
func (r *run) get(o *Object, key any) (v any, ok bool) {
	r.reads(key)
	if hash, hashable := hashOf(key); hashable {
		if i, ok := o.at[hash]; ok {
			return o.values[i], true
		}
	}
	return nil, false
}

// reads counts the bytes of a key that is looked up.
func (r *run) reads(key any) {
	t, _ := key.(Text)
	r.spend(len(t.S))
}

// put sets the value of any key.
func (r *run) put(o *Object, key, value any) {
	hash, ok := hashOf(key)
	if !ok {
		panic(failure("%s cannot be the key of an object", typeOf(key)))
	}
	r.step()
	r.reads(key)
	o.set(key, hash, value)
}

// hashOf returns the same value for keys that are equal.
func hashOf(key any) (hash any, ok bool) {
	switch key := key.(type) {
	case Text:
		return key.S, true
	case float64:
		if n := int(key); float64(n) == key && math.Abs(key) < 1<<53 {
			return n, true
		}
		return key, true
	case nil:
		return nil, true
	}
	n, ok := wholeOf(key)
	return n, ok
}

// listOf returns the items of a list or a tuple.
func listOf(v any) ([]any, bool) {
	if t, ok := v.(tuple); ok {
		return t, true
	}
	list, ok := v.([]any)
	return list, ok
}

// asTuple returns a list as a tuple if v is one.
func asTuple(v any, list []any) any {
	if _, ok := v.(tuple); ok {
		return tuple(list)
	}
	return list
}

// truth reports whether a value counts as true.
func truth(v any) bool {
	switch v := v.(type) {
	case nil, undefined:
		return false
	case Text:
		return v.S != ""
	case *Object:
		return len(v.keys) > 0
	}
	if list, ok := listOf(v); ok {
		return len(list) > 0
	}
	x, ok := numeric(v)
	return !ok || x != 0
}

// comparison returns whether a op b.
func (f *frame) comparison(op string, a, b any) bool {
	switch op {
	case "==", "!=":
		return f.equal(a, b) == (op == "==")
	case "in", "not in":
		return f.contains(b, a) == (op == "in")
	}
	switch order := f.compare(a, b); op {
	case "<":
		return order == -1
	case ">":
		return order == 1
	case "<=":
		return order == -1 || order == 0
	default:
		return order == 1 || order == 0
	}
}

// compare returns -1, 0 or 1 for numbers, texts, lists and tuples, and 2 for a number that has no order with another.
func (r *run) compare(a, b any) int {
	r.enter()
	defer r.leave()
	if x, ok := a.(Text); ok {
		if y, ok := b.(Text); ok {
			r.spend(min(len(x.S), len(y.S)))
			return strings.Compare(x.S, y.S)
		}
	}
	if x, ok := numeric(a); ok {
		if y, ok := numeric(b); ok {
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			case x == y:
				return 0
			}
			return 2
		}
	}
	x, ok := listOf(a)
	y, both := listOf(b)
	if !ok || !both || typeOf(a) != typeOf(b) {
		panic(failure("%s has no order with %s", typeOf(a), typeOf(b)))
	}
	for i := range min(len(x), len(y)) {
		if !r.equal(x[i], y[i]) {
			return r.compare(x[i], y[i])
		}
	}
	return cmp.Compare(len(x), len(y))
}

// equal reports whether two values are equal.
func (r *run) equal(a, b any) bool {
	r.enter()
	defer r.leave()
	if x, ok := wholeOf(a); ok {
		if y, ok := wholeOf(b); ok {
			return x == y
		}
	}
	if x, ok := numeric(a); ok {
		y, ok := numeric(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case nil:
		return b == nil
	case undefined:
		_, ok := b.(undefined)
		return ok
	case Text:
		t, ok := b.(Text)
		r.spend(min(len(a.S), len(t.S)))
		return ok && a.S == t.S
	case *Object:
		o, ok := b.(*Object)
		if !ok || len(a.keys) != len(o.keys) {
			return false
		}
		for i, key := range a.keys {
			if v, ok := r.get(o, key); !ok || !r.equal(a.values[i], v) {
				return false
			}
		}
		return true
	}
	x, ok := listOf(a)
	y, both := listOf(b)
	return ok && both && typeOf(a) == typeOf(b) && slices.EqualFunc(x, y, r.equal)
}

func (r *run) contains(in, v any) bool {
	switch in := in.(type) {
	case Text:
		if t, ok := v.(Text); ok {
			r.spend(len(in.S) + len(t.S))
			return strings.Contains(in.S, t.S)
		}
	case *Object:
		_, has := r.get(in, v)
		return has
	case undefined:
		return false
	}
	list, ok := listOf(in)
	if !ok {
		panic(failure("cannot find %s in %s", typeOf(v), typeOf(in)))
	}
	return slices.ContainsFunc(list, func(e any) bool { return r.equal(e, v) })
}

// length returns the number of items of a value.
func (r *run) length(v any) int {
	switch v := v.(type) {
	case Text:
		r.spend(len(v.S))
		return utf8.RuneCountInString(v.S)
	case *Object:
		return len(v.keys)
	case undefined:
		return 0
	}
	list, ok := listOf(v)
	if !ok {
		panic(failure("%s has no length", typeOf(v)))
	}
	return len(list)
}

// items returns the values of a loop: the elements of a list, the letters of a text or the keys of an object.
func (r *run) items(v any) (list []any) {
	switch v := v.(type) {
	case Text:
		n := r.length(v)
		r.each(n, 80)
		list = make([]any, 0, n)
		for at := 0; at < len(v.S); {
			_, n := utf8.DecodeRuneInString(v.S[at:])
			list = append(list, v.slice(at, at+n))
			at += n
		}
		return list
	case *Object:
		return v.keys
	case undefined:
		return nil
	}
	list, ok := listOf(v)
	if !ok {
		panic(failure("cannot go through %s", typeOf(v)))
	}
	return list
}

// copied returns a new list of the items of a value.
func (r *run) copied(v any) []any {
	list := r.items(v)
	r.each(len(list)+1, 16)
	return append([]any{}, list...)
}

// show returns the text of a value, as Python's str does.
func (r *run) show(v any) Text {
	switch v := v.(type) {
	case Text:
		return v
	case nil:
		return plain("None")
	case undefined:
		return Text{}
	case bool:
		return plain(truths[v])
	case int:
		return plain(strconv.Itoa(v))
	case float64:
		return plain(repr(v))
	}
	w := writer{run: r, quote: reprQuote, words: truths, none: "None", comma: ", ", colon: ": "}
	return w.text(v)
}

var truths = map[bool]string{true: "True", false: "False"}

// reprQuote writes a text as Python's repr does.
func reprQuote(b *bytes.Buffer, s string) {
	mark := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	b.WriteRune(mark)
	for _, c := range s {
		switch {
		case c == mark || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case strconv.IsPrint(c):
			b.WriteRune(c)
		case c < 0x100:
			hex(b, 'x', 2, c)
		case c < 0x10000:
			hex(b, 'u', 4, c)
		default:
			hex(b, 'U', 8, c)
		}
	}
	b.WriteRune(mark)
}

// hex writes an escape of a number of hexadecimal digits.
func hex(b *bytes.Buffer, letter byte, digits int, c rune) {
	b.WriteByte('\\')
	b.WriteByte(letter)
	for i := digits - 1; i >= 0; i-- {
		b.WriteByte("0123456789abcdef"[c>>(4*i)&15])
	}
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
	case tuple:
		return "a tuple"
	case *Object:
		return "an object"
	case namespace:
		return "a namespace"
	}
	return "a function"
}
