package jinja

// loop is a statement that repeats others for each item.
type loop struct {
	names     []string
	over      expr
	only      expr // the condition of an item, or nil
	inside    body
	none      body // without items
	recursive bool
}

// loop parses the rest of {% for x in … %}, {% for k, v in … if … %}, {% for … recursive %}, with {% else %}, up to
// {% endfor %}.
func (p *parser) loop() body {
	l := &loop{names: p.targets(), none: sequence(nil)}
	p.want("in")
	l.over = p.tupleOf(p.or) // without a condition, whose "if" would be taken for the loop's
	if p.accept("if") {
		l.only = p.expression()
	}
	l.recursive = p.accept("recursive")
	p.end(endTag)
	l.inside = p.block("else", "endfor")
	p.next()
	if p.next().text == "else" {
		l.none = p.inside("endfor")
	} else {
		p.end(endTag)
	}
	return func(f *frame) leave { return l.run(f, l.over(f), 0) }
}

func (l *loop) run(f *frame, over any, depth int) leave {
	items := f.items(over)
	if l.only != nil {
		items = l.chosen(f, items)
	}
	if len(items) == 0 {
		return l.none(f)
	}
	for i := range items {
		inside := f.inner()
		inside.vars["loop"] = &iteration{loop: l, frame: f, items: items, i: i, depth: depth}
		inside.assign(l.names, items[i])
		if l.inside(inside) == breaks {
			break
		}
	}
	return onward
}

// chosen returns the items for which the condition of a loop is true.
func (l *loop) chosen(f *frame, items []any) (list []any) {
	for _, item := range items {
		inside := f.inner()
		inside.assign(l.names, item)
		if truth(l.only(inside)) {
			list = append(list, item)
		}
	}
	return list
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
		return function(func(_ *frame, list []argument) any {
			if len(list) == 0 {
				panic(failure("cycle: got no values"))
			}
			return list[i%len(list)].value
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
func (t *iteration) again(_ *frame, list []argument) any {
	if !t.recursive || len(list) != 1 {
		panic(failure("loop: got %d values, want one, in a loop that is recursive", len(list)))
	}
	return captured(func(f *frame) leave { return t.run(f, list[0].value, t.depth+1) })(t.frame)
}
