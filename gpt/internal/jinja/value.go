package jinja

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// undefined is the value of a name that has none.
type undefined struct{ name string }

// tuple is a list that Python writes in parentheses.
type tuple []any

// namespace is an object whose attributes can be set.
type namespace struct{ *Object }

// function is a value that can be called.
type function func(f *frame, list []argument) (any, error)

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
func (r *run) get(o *Object, key any) (v any, ok bool, err error) {
	if err := r.reads(key); err != nil {
		return nil, false, err
	}
	if hash, hashable := hashOf(key); hashable {
		if i, ok := o.at[hash]; ok {
			return o.values[i], true, nil
		}
	}
	return nil, false, nil
}

// reads counts the bytes of a key that is looked up.
func (r *run) reads(key any) error {
	t, _ := key.(Text)
	return r.spend(len(t.S))
}

// put sets the value of any key.
func (r *run) put(o *Object, key, value any) error {
	hash, ok := hashOf(key)
	if !ok {
		return errors.Errorf("%s cannot be the key of an object", typeOf(key))
	}
	if err := r.reads(key); err != nil {
		return err
	}
	o.set(key, hash, value)
	return r.step()
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
func (f *frame) comparison(op string, a, b any) (is bool, err error) {
	switch op {
	case "==", "!=":
		is, err = f.equal(a, b)
		return is == (op == "=="), err
	case "in", "not in":
		is, err = f.contains(b, a)
		return is == (op == "in"), err
	}
	order, err := f.compare(a, b)
	if err != nil {
		return false, errors.WithMessagef(err, "cannot compute %s %s %s", typeOf(a), op, typeOf(b))
	}
	switch op {
	case "<":
		return order == -1, nil
	case ">":
		return order == 1, nil
	case "<=":
		return order == -1 || order == 0, nil
	}
	return order == 1 || order == 0, nil
}

// unordered is the result of a comparison with NaN.
const unordered = 2

// compare returns -1, 0 or 1 for numbers, texts, lists and tuples.
func (r *run) compare(a, b any) (int, error) {
	if err := r.enter(); err != nil {
		return 0, err
	}
	defer r.leave()
	if x, ok := a.(Text); ok {
		if y, ok := b.(Text); ok {
			if err := r.spend(min(len(x.S), len(y.S))); err != nil {
				return 0, err
			}
			return strings.Compare(x.S, y.S), nil
		}
	}
	if x, ok := numeric(a); ok {
		if y, ok := numeric(b); ok {
			switch {
			case x < y:
				return -1, nil
			case x > y:
				return 1, nil
			case x == y:
				return 0, nil
			}
			return unordered, nil
		}
	}
	x, ok := listOf(a)
	y, both := listOf(b)
	if !ok || !both || typeOf(a) != typeOf(b) {
		return 0, errors.Errorf("%s has no order with %s", typeOf(a), typeOf(b))
	}
	for i := range min(len(x), len(y)) {
		same, err := r.equal(x[i], y[i])
		if err != nil {
			return 0, err
		}
		if !same {
			return r.compare(x[i], y[i])
		}
	}
	return r.compare(len(x), len(y))
}

// equal reports whether two values are equal.
func (r *run) equal(a, b any) (bool, error) {
	if err := r.enter(); err != nil {
		return false, err
	}
	defer r.leave()
	if x, ok := wholeOf(a); ok {
		if y, ok := wholeOf(b); ok {
			return x == y, nil
		}
	}
	if x, ok := numeric(a); ok {
		y, ok := numeric(b)
		return ok && x == y, nil
	}
	switch a := a.(type) {
	case nil:
		return b == nil, nil
	case undefined:
		_, ok := b.(undefined)
		return ok, nil
	case Text:
		t, ok := b.(Text)
		if err := r.spend(min(len(a.S), len(t.S))); err != nil {
			return false, err
		}
		return ok && a.S == t.S, nil
	case *Object:
		o, ok := b.(*Object)
		if !ok || len(a.keys) != len(o.keys) {
			return false, nil
		}
		for i, key := range a.keys {
			v, ok, err := r.get(o, key)
			if !ok {
				return false, err
			}
			if same, err := r.equal(a.values[i], v); !same {
				return false, err
			}
		}
		return true, nil
	}
	x, ok := listOf(a)
	y, both := listOf(b)
	if !ok || !both || len(x) != len(y) || typeOf(a) != typeOf(b) {
		return false, nil
	}
	for i := range x {
		if same, err := r.equal(x[i], y[i]); !same {
			return false, err
		}
	}
	return true, nil
}

func (r *run) contains(in, v any) (bool, error) {
	switch in := in.(type) {
	case Text:
		if t, ok := v.(Text); ok {
			if err := r.spend(len(in.S) + len(t.S)); err != nil {
				return false, err
			}
			return strings.Contains(in.S, t.S), nil
		}
	case *Object:
		_, has, err := r.get(in, v)
		return has, err
	case undefined:
		return false, nil
	}
	list, ok := listOf(in)
	if !ok {
		return false, errors.Errorf("cannot find %s in %s", typeOf(v), typeOf(in))
	}
	for _, e := range list {
		if same, err := r.equal(e, v); same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// length returns the number of items of a value.
func (r *run) length(v any) (int, error) {
	switch v := v.(type) {
	case Text:
		if err := r.spend(len(v.S)); err != nil {
			return 0, err
		}
		return utf8.RuneCountInString(v.S), nil
	case *Object:
		return len(v.keys), nil
	case undefined:
		return 0, nil
	}
	list, ok := listOf(v)
	if !ok {
		return 0, errors.Errorf("%s has no length", typeOf(v))
	}
	return len(list), nil
}

// items returns the values of a loop: the elements of a list, the letters of a text or the keys of an object.
func (r *run) items(v any) (list []any, err error) {
	switch v := v.(type) {
	case Text:
		n, err := r.length(v)
		if err == nil {
			err = r.each(n, 80)
		}
		if err != nil {
			return nil, err
		}
		list = make([]any, 0, n)
		for at := 0; at < len(v.S); {
			_, n := utf8.DecodeRuneInString(v.S[at:])
			list = append(list, v.slice(at, at+n))
			at += n
		}
		return list, nil
	case *Object:
		return v.keys, nil
	case undefined:
		return nil, nil
	}
	list, ok := listOf(v)
	if !ok {
		return nil, errors.Errorf("cannot go through %s", typeOf(v))
	}
	return list, nil
}

// show returns the text of a value, as Python's str does.
func (r *run) show(v any) (Text, error) {
	switch v := v.(type) {
	case Text:
		return v, nil
	case nil:
		return plain("None"), nil
	case undefined:
		return Text{}, nil
	case bool:
		return plain(truths[v]), nil
	case int:
		return plain(strconv.Itoa(v)), nil
	case float64:
		return plain(repr(v)), nil
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
