package jinja

import (
	"strings"

	"github.com/pkg/errors"
)

// postfix parses a value with its attributes, items, calls, filters and tests.
func (p *parser) postfix() (expr, error) {
	e, err := p.primary()
	for err == nil {
		switch {
		case p.accept("."):
			var key string
			if t := p.next(); t.kind == name || t.kind == number {
				key = t.text
			} else {
				return nil, p.fail("got %.32q, want the name of an attribute", t.text)
			}
			e = attribute(e, constant(plain(key)))
		case p.accept("["):
			e, err = p.item(e)
		case p.accept("("):
			e, err = p.call(e)
		case p.accept("|"):
			e, err = p.filter(e)
		case p.accept("is"):
			e, err = p.test(e)
		default:
			return e, nil
		}
	}
	return e, err
}

// item parses the rest of a[i] or a[i:j:k].
func (p *parser) item(of expr) (expr, error) {
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
		return sliced(of, bounds), nil
	}
	if bounds[0] == nil {
		return nil, p.fail("want a value between [ and ]")
	}
	return attribute(of, bounds[0]), nil
}

// attribute returns a.b or a[b].
func attribute(of, key expr) expr {
	return func(f *frame) (any, error) {
		v, err := of(f)
		if err != nil {
			return nil, err
		}
		k, err := key(f)
		if err != nil {
			return nil, err
		}
		if err := f.step(1); err != nil {
			return nil, err
		}
		if i, ok := k.(int); ok {
			list, ok := v.([]any)
			if t, isText := v.(Text); isText {
				if err := f.make(len(t.S)); err != nil {
					return nil, err
				}
				list, ok = letters(t), true
			}
			if i < 0 {
				i += len(list)
			}
			if ok && i >= 0 && i < len(list) {
				return list[i], nil
			}
			return undefined{"an item"}, nil
		}
		name, ok := k.(Text)
		if !ok {
			return nil, errors.Errorf("got %s as the name of an item", typeOf(k))
		}
		switch v := v.(type) {
		case map[string]any:
			if e, ok := v[name.S]; ok {
				return e, nil
			}
		case namespace:
			if e, ok := v.vars[name.S]; ok {
				return e, nil
			}
		case undefined:
			return nil, errors.Errorf("%s is undefined, so it has no %.64s", v.name, name.S)
		}
		if m, ok := method(v, name.S); ok {
			return m, nil
		}
		return undefined{name.S}, nil
	}
}

func sliced(of expr, bounds [3]expr) expr {
	return func(f *frame) (any, error) {
		v, err := of(f)
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		t, isText := v.(Text)
		if err := f.make(len(t.S)); err != nil {
			return nil, err
		}
		if isText {
			list, ok = letters(t), true
		}
		if !ok {
			return nil, errors.Errorf("cannot slice %s", typeOf(v))
		}
		if !isText {
			if err := f.step(len(list)); err != nil {
				return nil, err
			}
		}
		var at [3]any
		for i, b := range bounds {
			if b == nil {
				continue
			}
			if at[i], err = b(f); err != nil {
				return nil, err
			}
			if _, whole := at[i].(int); !whole && at[i] != nil {
				return nil, errors.Errorf("got %s in a slice, want a whole number", typeOf(at[i]))
			}
		}
		if list, err = slice(list, at); err != nil || !isText {
			return list, err
		}
		var s, by strings.Builder
		for _, e := range list {
			s.WriteString(e.(Text).S)
			by.WriteString(e.(Text).By)
		}
		return Text{s.String(), by.String()}, nil
	}
}

// slice returns list[from:to:step], as Python does.
func slice(list []any, at [3]any) ([]any, error) {
	step := 1
	if n, ok := at[2].(int); ok {
		step = n
	}
	if step == 0 {
		return nil, errors.New("a slice has the step 0")
	}
	low, high := 0, len(list)
	if step < 0 {
		low, high = -1, len(list)-1
	}
	bound := func(v any, otherwise int) int {
		i, ok := v.(int)
		if !ok {
			return otherwise
		}
		if i < 0 {
			i += len(list)
		}
		return min(max(i, low), high)
	}
	from, to := bound(at[0], low), bound(at[1], high)
	if step < 0 {
		from, to = bound(at[0], high), bound(at[1], low)
	}
	var part []any
	for i := from; i < to && step > 0 || i > to && step < 0; i += step {
		part = append(part, list[i])
	}
	return part, nil
}

// arguments holds the arguments of a call.
type arguments struct {
	list  []expr
	names []string
	named []expr
}

// arguments parses up to the closing parenthesis.
func (p *parser) arguments() (a arguments, err error) {
	for err == nil && !p.accept(")") {
		isNamed := p.peek().kind == name && p.tokens[p.at+1].text == "=" && p.tokens[p.at+1].kind == operator
		if isNamed {
			a.names = append(a.names, p.next().text)
			p.at++
		}
		var e expr
		if e, err = p.expression(); err != nil {
			break
		}
		if isNamed {
			a.named = append(a.named, e)
		} else {
			a.list = append(a.list, e)
		}
		if !p.accept(",") && !p.is(")") {
			err = p.want(")")
		}
	}
	return a, err
}

func (a arguments) values(f *frame) (args []any, named map[string]any, err error) {
	for _, e := range a.list {
		v, err := e(f)
		if err != nil {
			return nil, nil, err
		}
		args = append(args, v)
	}
	named = map[string]any{}
	for i, e := range a.named {
		if named[a.names[i]], err = e(f); err != nil {
			return nil, nil, err
		}
	}
	return args, named, nil
}

// call parses the arguments of a call.
func (p *parser) call(of expr) (expr, error) {
	a, err := p.arguments()
	return func(f *frame) (any, error) {
		v, err := of(f)
		if err != nil {
			return nil, err
		}
		call, ok := v.(function)
		if !ok {
			return nil, errors.Errorf("%s cannot be called", typeOf(v))
		}
		args, named, err := a.values(f)
		if err != nil {
			return nil, err
		}
		if f.nested++; f.nested > maxNested {
			return nil, errors.Errorf("more than %d calls within each other", maxNested)
		}
		defer func() { f.nested-- }()
		return call(f, args, named)
	}, err
}

// filter parses the name and the arguments of a filter.
func (p *parser) filter(of expr) (expr, error) {
	called, err := p.name()
	if err != nil {
		return nil, err
	}
	apply, ok := filters()[called]
	if !ok {
		return nil, p.fail("unknown filter %.32q", called)
	}
	var a arguments
	if p.accept("(") {
		a, err = p.arguments()
	}
	return func(f *frame) (any, error) {
		v, err := of(f)
		if err != nil {
			return nil, err
		}
		args, named, err := a.values(f)
		if err != nil {
			return nil, err
		}
		if err := f.step(1); err != nil {
			return nil, err
		}
		v, err = apply(f, v, args, named)
		return v, errors.WithMessage(err, called)
	}, err
}

// test parses the rest of a is [not] b.
func (p *parser) test(of expr) (expr, error) {
	not := p.accept("not")
	called, err := p.name()
	if err != nil {
		return nil, err
	}
	is, ok := tests()[called]
	if !ok {
		return nil, p.fail("unknown test %.32q", called)
	}
	var a arguments
	if p.accept("(") {
		if a, err = p.arguments(); err != nil {
			return nil, err
		}
	}
	return func(f *frame) (any, error) {
		v, err := of(f)
		if err != nil {
			return nil, err
		}
		args, _, err := a.values(f)
		if err != nil {
			return nil, err
		}
		return is(f, v, args) != not, nil
	}, nil
}
