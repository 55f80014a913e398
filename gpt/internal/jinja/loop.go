package jinja

import "github.com/pkg/errors"

// loop parses the rest of {% for x in … %}, {% for k, v in … if … %}, with {% else %}, up to {% endfor %}.
func (p *parser) loop() (body, error) {
	first, err := p.name()
	names := []string{first}
	for err == nil && p.accept(",") {
		var n string
		n, err = p.name()
		names = append(names, n)
	}
	if err == nil {
		err = p.want("in")
	}
	if err != nil {
		return nil, err
	}
	over, err := p.or() // without a condition, whose "if" would be taken for that of the loop
	if err != nil {
		return nil, err
	}
	var only expr
	if p.accept("if") {
		if only, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if err := p.end(endTag); err != nil {
		return nil, err
	}
	inside, err := p.block("else", "endfor")
	if err != nil {
		return nil, err
	}
	p.at++
	none := sequence(nil)
	if p.next().text == "else" {
		if err = p.end(endTag); err == nil {
			if none, err = p.block("endfor"); err == nil {
				p.at += 2
			}
		}
	}
	if err == nil {
		err = p.end(endTag)
	}
	return func(f *frame) (leave, error) {
		v, err := over(f)
		if err != nil {
			return onward, err
		}
		items, err := f.items(v)
		if err != nil {
			return onward, err
		}
		if only != nil {
			if items, err = f.those(items, names, only); err != nil {
				return onward, err
			}
		}
		if len(items) == 0 {
			return none(f)
		}
		for i := range items {
			own, err := f.bound(names, items[i])
			if err != nil {
				return onward, err
			}
			own.vars["loop"] = loopOf(items, i)
			l, err := inside(own)
			if err != nil || l == breaks {
				return onward, err
			}
		}
		return onward, nil
	}, err
}

// bound returns a frame in which the names of a loop stand for an item.
func (f *frame) bound(names []string, item any) (*frame, error) {
	own := f.inner()
	if len(names) == 1 {
		own.vars[names[0]] = item
		return own, f.step(1)
	}
	list, ok := item.([]any)
	if !ok || len(list) != len(names) {
		return nil, errors.Errorf("for: got an item of another form than the %d names", len(names))
	}
	for i, n := range names {
		own.vars[n] = list[i]
	}
	return own, f.step(1)
}

// those returns the items for which the condition of a loop is true.
func (f *frame) those(items []any, names []string, only expr) (list []any, err error) {
	for _, item := range items {
		own, err := f.bound(names, item)
		if err != nil {
			return nil, err
		}
		v, err := only(own)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			list = append(list, item)
		}
	}
	return list, nil
}

// loopOf returns the variable loop of an iteration.
func loopOf(items []any, i int) map[string]any {
	loop := map[string]any{
		"index": i + 1, "index0": i, "first": i == 0, "last": i == len(items)-1, "length": len(items),
		"revindex": len(items) - i, "revindex0": len(items) - i - 1,
		"previtem": undefined{"loop.previtem"}, "nextitem": undefined{"loop.nextitem"},
	}
	if i > 0 {
		loop["previtem"] = items[i-1]
	}
	if i+1 < len(items) {
		loop["nextitem"] = items[i+1]
	}
	return loop
}
