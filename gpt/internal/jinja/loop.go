package jinja

import "github.com/pkg/errors"

// loop parses the rest of {% for x in … %}, {% for k, v in … if … %}, {% for … recursive %}, with {% else %}, up to
// {% endfor %}.
func (p *parser) loop() (body, error) {
	names, err := p.targets()
	if err == nil {
		err = p.want("in")
	}
	if err != nil {
		return nil, err
	}
	over, err := p.tupleOf(p.or) // without a condition, whose "if" would be taken for the loop's
	if err != nil {
		return nil, err
	}
	l := &loop{names: names}
	if p.accept("if") {
		if l.only, err = p.expression(); err != nil {
			return nil, err
		}
	}
	l.recursive = p.accept("recursive")
	if err := p.end(endTag); err != nil {
		return nil, err
	}
	if l.inside, err = p.block("else", "endfor"); err != nil {
		return nil, err
	}
	p.next()
	l.none = sequence(nil)
	if p.next().text == "else" {
		l.none, err = p.inside("endfor")
	} else {
		err = p.end(endTag)
	}
	return func(f *frame) (leave, error) {
		v, err := over(f)
		if err != nil {
			return onward, err
		}
		return l.run(f, v, 0)
	}, err
}

// loop is a statement that repeats others for each item.
type loop struct {
	names     []string
	only      expr // the condition of an item, or nil
	inside    body
	none      body // without items
	recursive bool
}

func (l *loop) run(f *frame, over any, depth int) (leave, error) {
	items, err := f.items(over)
	if err == nil && l.only != nil {
		items, err = l.chosen(f, items)
	}
	if err != nil {
		return onward, err
	}
	if len(items) == 0 {
		return l.none(f)
	}
	for i := range items {
		inside := f.inner()
		inside.vars["loop"] = &iteration{loop: l, frame: f, items: items, i: i, depth: depth}
		if err := inside.assign(l.names, items[i]); err != nil {
			return onward, err
		}
		how, err := l.inside(inside)
		if err != nil || how == breaks {
			return onward, err
		}
	}
	return onward, nil
}

// chosen returns the items for which the condition of a loop is true.
func (l *loop) chosen(f *frame, items []any) (list []any, err error) {
	for _, item := range items {
		inside := f.inner()
		if err := inside.assign(l.names, item); err != nil {
			return nil, err
		}
		v, err := l.only(inside)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			list = append(list, item)
		}
	}
	return list, nil
}

// iteration is the variable loop.
type iteration struct {
	*loop
	frame *frame
	items []any
	i     int
	depth int
}

// attribute returns an attribute of the variable loop.
func (t *iteration) attribute(name string) (any, bool) {
	i, n := t.i, len(t.items)
	switch name {
	case "index":
		return i + 1, true
	case "index0":
		return i, true
	case "first":
		return i == 0, true
	case "last":
		return i == n-1, true
	case "length":
		return n, true
	case "revindex":
		return n - i, true
	case "revindex0":
		return n - i - 1, true
	case "depth":
		return t.depth + 1, true
	case "depth0":
		return t.depth, true
	case "cycle":
		return function(func(_ *frame, list []argument) (any, error) {
			if len(list) == 0 {
				return nil, errors.New("cycle: got no values")
			}
			return list[i%len(list)].value, nil
		}), true
	case "previtem":
		if i > 0 {
			return t.items[i-1], true
		}
	case "nextitem":
		if i+1 < n {
			return t.items[i+1], true
		}
	}
	return nil, false
}

// again returns the text of the loop over other items, for loop(…).
func (t *iteration) again(f *frame, list []argument) (any, error) {
	if !t.recursive || len(list) != 1 {
		return nil, errors.Errorf("loop: got %d values, want one, in a loop that is recursive", len(list))
	}
	return captured(func(f *frame) (leave, error) { return t.run(f, list[0].value, t.depth+1) })(t.frame)
}
