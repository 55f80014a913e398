package jinja

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// op changes a value: an attribute, an item, a call, a filter or a test.
type op func(f *frame, v any) any

// applied returns the value of an expression after ops.
func applied(e expr, ops []op) expr {
	if len(ops) == 0 {
		return e
	}
	return func(f *frame) any {
		v := e(f)
		for _, o := range ops {
			f.step()
			v = o(f, v)
		}
		return v
	}
}

// postfix parses attributes, items and calls.
func (p *parser) postfix() (ops []op) {
	for {
		switch {
		case p.accept("."):
			if k := p.peek().kind; k != name && k != number {
				panic(p.fail("got %.32q, want the name of an attribute", p.peek().text))
			}
			ops = append(ops, dotted(plain(p.next().text)))
			p.called = nil
		case p.accept("["):
			ops = append(ops, p.item())
			p.called = nil
		case p.is("("):
			ops = append(ops, p.call())
		default:
			return ops
		}
	}
}

// filters parses filters and tests, and calls of their results.
func (p *parser) filters() (ops []op) {
	for {
		switch {
		case p.is("|"):
			p.next()
			ops = append(ops, p.filter())
		case p.accept("is"):
			ops = append(ops, p.test())
		case p.is("("):
			ops = append(ops, p.call())
		default:
			return ops
		}
	}
}

// item parses the rest of a[i] or a[i:j:k].
func (p *parser) item() op {
	var bounds [3]expr
	parts := 0
	for {
		if !p.is(":") && !p.is("]") {
			bounds[parts] = p.expression()
		}
		if !p.accept(":") {
			break
		}
		if parts++; parts > 2 {
			panic(p.fail("a slice has more than three numbers"))
		}
	}
	p.want("]")
	key := bounds[0]
	switch {
	case parts > 0:
		return func(f *frame, v any) any { return f.sliced(v, bounds) }
	case key == nil:
		panic(p.fail("want a value between [ and ]"))
	}
	return func(f *frame, v any) any { return f.item(v, key(f)) }
}

// dotted returns a.b: an attribute or, if there is none, an item.
func dotted(key Text) op {
	return func(f *frame, v any) any {
		if m, ok := f.attribute(v, key.S); ok {
			return m
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
func (f *frame) item(v, key any) any {
	if u, ok := v.(undefined); ok {
		panic(failure("%s is undefined, so it has no item", u.name))
	}
	f.reads(key)
	if i, ok := key.(int); ok {
		if t, isText := v.(Text); isText {
			return f.letter(t, i)
		}
		if list, ok := listOf(v); ok {
			if i < 0 {
				i += len(list)
			}
			if i >= 0 && i < len(list) {
				return list[i]
			}
			return undefined{"an item"}
		}
	}
	name, isText := key.(Text)
	o, ok := v.(*Object)
	if n, is := v.(namespace); is && isText {
		o, ok = n.Object, true
	}
	if ok {
		if e, ok := f.get(o, key); ok {
			return e
		}
	}
	if !isText {
		return undefined{"an item"}
	}
	if m, ok := f.attribute(v, name.S); ok {
		return m
	}
	return undefined{strings.ToValidUTF8(name.S[:min(len(name.S), 64)], "")}
}

// letter returns a character of a text.
func (f *frame) letter(t Text, i int) any {
	n := f.length(t)
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return undefined{"an item"}
	}
	at := offset(t.S, 0, i)
	_, size := utf8.DecodeRuneInString(t.S[at:])
	return t.slice(at, at+size)
}

// offset returns the byte at which the character n after the one at byte at begins.
func offset(s string, at, n int) int {
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

func (f *frame) sliced(v any, bounds [3]expr) any {
	var at [3]any
	for i, b := range bounds {
		if b == nil {
			continue
		}
		at[i] = b(f)
		if _, whole := at[i].(int); !whole && at[i] != nil {
			panic(failure("got %s in a slice, want a whole number", typeOf(at[i])))
		}
	}
	t, isText := v.(Text)
	list, ok := listOf(v)
	if !ok && !isText {
		panic(failure("cannot slice %s", typeOf(v)))
	}
	from, count, step := slice(f.length(v), at)
	f.each(count, 16)
	if isText {
		return f.letters(t, from, count, step)
	}
	part := make([]any, count)
	for k := range part {
		part[k] = list[from+k*step]
	}
	return asTuple(v, part)
}

// letters returns count characters of a text, from one on, in steps.
func (f *frame) letters(t Text, from, count, step int) any {
	if count == 0 {
		return Text{}
	}
	if step == 1 {
		at := offset(t.S, 0, from)
		return t.slice(at, offset(t.S, at, count))
	}
	f.each(len(t.S), 24)
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
	return Text{string(s), string(by), t.safe}
}

// slice returns the first index, the number of items and the step of a slice of n items, as Python does.
func slice(n int, at [3]any) (from, count, step int) {
	step = 1
	if s, ok := at[2].(int); ok {
		step = s
	}
	if step == 0 {
		panic(failure("a slice has the step 0"))
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
	stride := uint64(step)
	if step > 0 {
		from = bound(at[0], low)
		count = bound(at[1], high) - from
	} else {
		from, stride = bound(at[0], high), -stride
		count = from - bound(at[1], low)
	}
	if count > 0 {
		count = 1 + int(uint64(count-1)/stride)
	}
	return from, max(count, 0), step
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
func (p *parser) arguments() *arguments {
	a := &arguments{}
	if !p.accept("(") {
		return a
	}
	for !p.accept(")") {
		called := ""
		if p.peek().kind == name && p.after(1).text == "=" && p.after(1).kind == operator {
			called = p.next().text
			p.next()
		}
		a.names, a.list = append(a.names, called), append(a.list, p.expression())
		p.comma(")")
	}
	return a
}

func (a *arguments) values(f *frame) []argument {
	f.each(len(a.list), 64)
	list := make([]argument, len(a.list))
	for i, e := range a.list {
		list[i] = argument{a.names[i], e(f)}
	}
	return list
}

// call parses the arguments of a call.
func (p *parser) call() op {
	a := p.arguments()
	p.called = a
	return func(f *frame, v any) any {
		call, ok := v.(function)
		if again, is := v.(*iteration); is {
			call, ok = again.again, true
		}
		if !ok {
			panic(failure("%s cannot be called", typeOf(v)))
		}
		list, line := a.values(f), f.line
		f.enter()
		v = call(f, list)
		f.leave()
		f.line = line
		return v
	}
}

// filter parses the name and the arguments of a filter. One that is unknown is an error where it is reached.
func (p *parser) filter() op {
	called := p.name()
	a, row := p.arguments(), p.tables.filters[called]
	p.called = nil
	return func(f *frame, v any) any {
		if row.do == nil {
			panic(failure("unknown filter %.32q", called))
		}
		return row.apply(f, called, v, a.values(f))
	}
}

// test parses the rest of a is [not] b. A test that is unknown is an error where it is reached.
func (p *parser) test() op {
	not := p.accept("not")
	called := p.name()
	a, row := p.arguments(), p.tables.tests[called]
	t := p.peek()
	if len(a.list) == 0 && (t.kind == quoted || t.kind == number || p.is("[") || p.is("{") ||
		t.kind == name && !slices.Contains([]string{"else", "or", "and", "if", "is", "in", "not"}, t.text)) {
		e := p.primary()
		a = &arguments{[]string{""}, []expr{applied(e, p.postfix())}}
	}
	p.called = nil
	return func(f *frame, v any) any {
		if row.do == nil {
			panic(failure("unknown test %.32q", called))
		}
		return truth(row.apply(f, called, v, a.values(f))) != not
	}
}
