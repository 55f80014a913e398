package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// op changes a value: an attribute, an item, a call, a filter or a test.
type op func(f *frame, v any) (any, error)

// applied returns the value of an expression after ops.
func applied(e expr, ops []op) expr {
	if len(ops) == 0 {
		return e
	}
	return func(f *frame) (any, error) {
		v, err := e(f)
		for _, o := range ops {
			if err == nil {
				err = f.step()
			}
			if err != nil {
				return nil, err
			}
			v, err = o(f, v)
		}
		return v, err
	}
}

// postfix parses attributes, items and calls.
func (p *parser) postfix() (ops []op, err error) {
	for err == nil {
		var o op
		switch {
		case p.accept("."):
			if k := p.peek().kind; k != name && k != number {
				return nil, p.fail("got %.32q, want the name of an attribute", p.peek().text)
			}
			o = dotted(plain(p.next().text))
			p.called = nil
		case p.accept("["):
			o, err = p.item()
			p.called = nil
		case p.is("("):
			o, err = p.call()
		default:
			return ops, nil
		}
		ops = append(ops, o)
	}
	return ops, err
}

// filters parses filters and tests, and calls of their results.
func (p *parser) filters() (ops []op, err error) {
	for err == nil {
		var o op
		switch {
		case p.is("|"):
			p.next()
			o, err = p.filter()
		case p.accept("is"):
			o, err = p.test()
		case p.is("("):
			o, err = p.call()
		default:
			return ops, nil
		}
		ops = append(ops, o)
	}
	return ops, err
}

// item parses the rest of a[i] or a[i:j:k].
func (p *parser) item() (op, error) {
	var bounds [3]expr
	parts := 0
	for {
		if !p.is(":") && !p.is("]") {
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			bounds[parts] = e
		}
		if !p.accept(":") {
			break
		}
		if parts++; parts > 2 {
			return nil, p.fail("a slice has more than three numbers")
		}
	}
	if err := p.want("]"); err != nil {
		return nil, err
	}
	if parts > 0 {
		return func(f *frame, v any) (any, error) { return f.sliced(v, bounds) }, nil
	}
	key := bounds[0]
	if key == nil {
		return nil, p.fail("want a value between [ and ]")
	}
	return func(f *frame, v any) (any, error) {
		k, err := key(f)
		if err != nil {
			return nil, err
		}
		return f.item(v, k)
	}, nil
}

// dotted returns a.b: an attribute or, if there is none, an item.
func dotted(key Text) op {
	return func(f *frame, v any) (any, error) {
		if m, ok := f.attribute(v, key.S); ok {
			return m, nil
		}
		return f.item(v, key)
	}
}

// attribute returns an attribute of a value, such as a method.
func (f *frame) attribute(v any, key string) (any, bool) {
	var methods map[string]row
	switch v := v.(type) {
	case Text:
		methods = f.tables.texts
	case *Object:
		methods = f.tables.objects
	case *iteration:
		return v.attribute(key)
	}
	m, ok := methods[key]
	return m.function(key, v), ok
}

// item returns a[key].
func (f *frame) item(v, key any) (any, error) {
	if u, ok := v.(undefined); ok {
		return nil, errors.Errorf("%s is undefined, so it has no item", u.name)
	}
	if i, ok := key.(int); ok {
		if t, isText := v.(Text); isText {
			return f.letter(t, i)
		}
		if list, ok := listOf(v); ok {
			if i < 0 {
				i += len(list)
			}
			if i >= 0 && i < len(list) {
				return list[i], nil
			}
			return undefined{"an item"}, nil
		}
	}
	name, isText := key.(Text)
	o, ok := v.(*Object)
	if n, is := v.(namespace); is && isText {
		o, ok = n.Object, true
	}
	if ok {
		if e, ok, err := f.get(o, key); ok || err != nil {
			return e, err
		}
	}
	if err := f.reads(key); err != nil {
		return nil, err
	}
	if !isText {
		return undefined{"an item"}, nil
	}
	if m, ok := f.attribute(v, name.S); ok {
		return m, nil
	}
	return undefined{strings.ToValidUTF8(name.S[:min(len(name.S), 64)], "")}, nil
}

// letter returns a character of a text.
func (f *frame) letter(t Text, i int) (any, error) {
	n, err := f.length(t)
	if i < 0 {
		i += n
	}
	if err != nil || i < 0 || i >= n {
		return undefined{"an item"}, err
	}
	at := offset(t.S, 0, i)
	_, size := utf8.DecodeRuneInString(t.S[at:])
	return t.slice(at, at+size), nil
}

// offset returns the byte at which the character n after the one at byte at begins.
func offset(s string, at, n int) int {
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

func (f *frame) sliced(v any, bounds [3]expr) (any, error) {
	var at [3]any
	for i, b := range bounds {
		if b == nil {
			continue
		}
		var err error
		if at[i], err = b(f); err != nil {
			return nil, err
		}
		if _, whole := at[i].(int); !whole && at[i] != nil {
			return nil, errors.Errorf("got %s in a slice, want a whole number", typeOf(at[i]))
		}
	}
	t, isText := v.(Text)
	list, ok := listOf(v)
	if !ok && !isText {
		return nil, errors.Errorf("cannot slice %s", typeOf(v))
	}
	n, err := f.length(v)
	if err != nil {
		return nil, err
	}
	from, count, step, err := slice(n, at)
	if err == nil {
		err = f.each(count, 16)
	}
	if err != nil {
		return nil, err
	}
	if isText {
		return f.letters(t, from, count, step)
	}
	part := make([]any, count)
	for k := range part {
		part[k] = list[from+k*step]
	}
	return asTuple(v, part), nil
}

// letters returns count characters of a text, from one on, in steps.
func (f *frame) letters(t Text, from, count, step int) (any, error) {
	if count == 0 {
		return Text{}, nil
	}
	if step == 1 {
		at := offset(t.S, 0, from)
		return t.slice(at, offset(t.S, at, count)), nil
	}
	if err := f.each(len(t.S), 24); err != nil {
		return nil, err
	}
	starts := make([]int, 0, len(t.S)+1)
	for at := range t.S {
		starts = append(starts, at)
	}
	starts = append(starts, len(t.S))
	var s, by []byte
	for k := range count {
		i := from + k*step
		s, by = append(s, t.S[starts[i]:starts[i+1]]...), append(by, t.By[starts[i]:starts[i+1]]...)
	}
	return Text{string(s), string(by), t.safe}, nil
}

// slice returns the first index, the number of items and the step of a slice of n items, as Python does.
func slice(n int, at [3]any) (from, count, step int, err error) {
	step = 1
	if s, ok := at[2].(int); ok {
		step = s
	}
	if step == 0 {
		return 0, 0, 0, errors.New("a slice has the step 0")
	}
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	bound := func(v any, otherwise int) int {
		i, ok := v.(int)
		if !ok {
			return otherwise
		}
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	if step > 0 {
		from, count = bound(at[0], low), bound(at[1], high)
		if count -= from; count > 0 {
			count = 1 + (count-1)/step
		}
		return from, max(count, 0), step, nil
	}
	from = bound(at[0], high)
	if count = from - bound(at[1], low); count > 0 {
		count = 1 + int(uint64(count-1)/-uint64(step))
	}
	return from, max(count, 0), step, nil
}

// argument is a value in a call, with its name if it has one.
type argument struct {
	name  string
	value any
}

// arguments holds the arguments of a call.
type arguments struct {
	names []string
	list  []expr
}

// arguments parses the arguments of a call, if there are any.
func (p *parser) arguments() (*arguments, error) {
	a := &arguments{}
	if !p.accept("(") {
		return a, nil
	}
	for !p.accept(")") {
		called := ""
		if p.peek().kind == name && p.after(1).text == "=" && p.after(1).kind == operator {
			called = p.next().text
			p.next()
		}
		e, err := p.expression()
		if err == nil && !p.accept(",") && !p.is(")") {
			err = p.want(")")
		}
		if err != nil {
			return nil, err
		}
		a.names, a.list = append(a.names, called), append(a.list, e)
	}
	return a, nil
}

func (a *arguments) values(f *frame) ([]argument, error) {
	list := make([]argument, len(a.list))
	for i, e := range a.list {
		v, err := e(f)
		if err != nil {
			return nil, err
		}
		list[i] = argument{a.names[i], v}
	}
	return list, f.each(len(list), 64)
}

// call parses the arguments of a call.
func (p *parser) call() (op, error) {
	a, err := p.arguments()
	p.called = a
	return func(f *frame, v any) (any, error) {
		call, ok := v.(function)
		if again, is := v.(*iteration); is {
			call, ok = again.again, true
		}
		if !ok {
			return nil, errors.Errorf("%s cannot be called", typeOf(v))
		}
		list, err := a.values(f)
		if err != nil {
			return nil, err
		}
		if err := f.enter(); err != nil {
			return nil, err
		}
		defer f.leave()
		return call(f, list)
	}, err
}

// filter parses the name and the arguments of a filter. One that is unknown is an error where it is reached.
func (p *parser) filter() (op, error) {
	called, err := p.name()
	if err != nil {
		return nil, err
	}
	a, err := p.arguments()
	p.called = nil
	row, ok := p.tables.filters[called]
	return func(f *frame, v any) (any, error) {
		if !ok {
			return nil, errors.Errorf("unknown filter %.32q", called)
		}
		list, err := a.values(f)
		if err != nil {
			return nil, err
		}
		return row.apply(f, called, v, list)
	}, err
}

// test parses the rest of a is [not] b. A test that is unknown is an error where it is reached.
func (p *parser) test() (op, error) {
	not := p.accept("not")
	called, err := p.name()
	if err != nil {
		return nil, err
	}
	a := &arguments{}
	switch t := p.peek(); {
	case p.is("("):
		a, err = p.arguments()
	case t.kind == name && !slices.Contains([]string{"else", "or", "and", "if", "is", "in", "not"}, t.text),
		t.kind == quoted, t.kind == number, p.is("["), p.is("{"):
		var e expr
		if e, err = p.primary(); err == nil {
			var ops []op
			ops, err = p.postfix()
			a = &arguments{[]string{""}, []expr{applied(e, ops)}}
		}
	}
	p.called = nil
	row, ok := p.tables.tests[called]
	return func(f *frame, v any) (any, error) {
		if !ok {
			return nil, errors.Errorf("unknown test %.32q", called)
		}
		list, err := a.values(f)
		if err != nil {
			return nil, err
		}
		is, err := row.apply(f, called, v, list)
		return truth(is) != not, err
	}, err
}
