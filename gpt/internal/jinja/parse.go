package jinja

import (
	"slices"

	"github.com/pkg/errors"
)

// parser turns the tokens of a template into functions.
type parser struct {
	*lexer
	ahead  []piece // tokens that have been read
	nested int
	tables tables
	called *arguments // of the call that the last expression ends with
}

// body evaluates statements. It returns how they end.
type body func(*frame) (leave, error)

// leave is the way in which statements end.
type leave int

const (
	onward leave = iota
	breaks
	continues
)

// after returns the token after n others.
func (p *parser) after(n int) piece {
	for len(p.ahead) <= n {
		p.ahead = append(p.ahead, p.lexer.next())
	}
	return p.ahead[n]
}

func (p *parser) peek() piece { return p.after(0) }

func (p *parser) next() piece {
	t := p.after(0)
	p.ahead = append(p.ahead[:0], p.ahead[1:]...)
	return t
}

func (p *parser) fail(format string, args ...any) error {
	return at(errors.Errorf(format, args...), p.peek().line)
}

// is reports whether the next token is that operator or word.
func (p *parser) is(text string) bool {
	t := p.peek()
	return (t.kind == name || t.kind == operator) && t.text == text
}

// accept skips the next token if it is that operator or word.
func (p *parser) accept(text string) bool {
	ok := p.is(text)
	if ok {
		p.next()
	}
	return ok
}

func (p *parser) want(text string) error {
	if !p.accept(text) {
		return p.fail("got %.32q, want %s", p.peek().text, text)
	}
	return nil
}

func (p *parser) end(k kind) error {
	if p.peek().kind != k {
		return p.fail("got %.32q, want the end of the tag", p.peek().text)
	}
	p.next()
	return nil
}

func (p *parser) name() (string, error) {
	if p.peek().kind == name {
		return p.next().text, nil
	}
	return "", p.fail("got %.32q, want a name", p.peek().text)
}

// enter counts nested expressions and statements, until done is called.
func (p *parser) enter() (done func(), err error) {
	if p.nested++; p.nested > maxNested {
		return nil, p.fail("more than %d expressions and statements within each other", maxNested)
	}
	return func() { p.nested-- }, nil
}

// block parses up to a tag with one of the words, which remains, or up to the end of the template.
func (p *parser) block(until ...string) (body, error) {
	done, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer done()
	var list []body
	for {
		var b body
		var err error
		switch t := p.peek(); t.kind {
		case endOfFile:
			if len(until) > 0 {
				return nil, p.fail("a statement has no %s", until[len(until)-1])
			}
			return sequence(list), nil
		case data:
			p.next()
			text := plain(t.text)
			b = func(f *frame) (leave, error) { return onward, f.write(text) }
		case beginOut:
			p.next()
			b, err = p.output()
		default: // beginTag
			if slices.Contains(until, p.after(1).text) {
				return sequence(list), nil
			}
			p.next()
			b, err = p.statement()
		}
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
}

// inside parses the end of a tag and all up to the tag with the word, which it skips.
func (p *parser) inside(until string) (b body, err error) {
	if err = p.end(endTag); err == nil {
		if b, err = p.block(until); err == nil {
			p.next()
			p.next()
			err = p.end(endTag)
		}
	}
	return b, err
}

func sequence(list []body) body {
	return func(f *frame) (leave, error) {
		for _, b := range list {
			if err := f.step(); err != nil {
				return onward, err
			}
			if l, err := b(f); err != nil || l != onward {
				return l, err
			}
		}
		return onward, nil
	}
}

func (p *parser) output() (body, error) {
	line := p.peek().line
	e, err := p.tuple()
	if err != nil {
		return nil, err
	}
	return func(f *frame) (leave, error) {
		v, err := e(f)
		var t Text
		if err == nil {
			t, err = f.show(v)
		}
		if err == nil {
			err = f.write(t)
		}
		return onward, at(err, line)
	}, p.end(endOut)
}

func (p *parser) statement() (body, error) {
	line := p.peek().line
	word, err := p.name()
	if err != nil {
		return nil, err
	}
	var b body
	switch word {
	case "if":
		b, err = p.conditional()
	case "for":
		b, err = p.loop()
	case "set":
		b, err = p.set()
	case "macro":
		b, err = p.macro()
	case "call":
		b, err = p.callBlock()
	case "filter":
		b, err = p.filterBlock()
	case "generation": // Hugging Face's mark of the tokens to learn
		b, err = p.inside("endgeneration")
	case "break", "continue":
		how := map[string]leave{"break": breaks, "continue": continues}[word]
		b, err = func(*frame) (leave, error) { return how, nil }, p.end(endTag)
	default:
		err = p.fail("unknown statement %.32q", word)
	}
	if err != nil {
		return nil, err
	}
	return func(f *frame) (leave, error) {
		l, err := b(f)
		return l, at(err, line)
	}, nil
}

// lined is an error with the line of the template that it comes from.
type lined struct{ error }

// at adds a line to an error that has none.
func at(err error, line int) error {
	if err == nil || errors.As(err, &lined{}) {
		return err
	}
	return lined{errors.WithMessagef(err, "line %d", line)}
}

// conditional parses the rest of {% if … %}, up to {% endif %}.
func (p *parser) conditional() (body, error) {
	var tests []expr
	var bodies []body
	for word := "if"; word != "endif"; {
		test := constant(true)
		ends := []string{"endif"}
		var err error
		if word != "else" {
			test, err = p.tuple()
			ends = []string{"elif", "else", "endif"}
		}
		if err == nil {
			err = p.end(endTag)
		}
		if err != nil {
			return nil, err
		}
		b, err := p.block(ends...)
		if err != nil {
			return nil, err
		}
		tests, bodies = append(tests, test), append(bodies, b)
		p.next()
		word = p.next().text
	}
	return func(f *frame) (leave, error) {
		for i, test := range tests {
			v, err := test(f)
			if err != nil {
				return onward, err
			}
			if truth(v) {
				return bodies[i](f)
			}
			if err := f.step(); err != nil {
				return onward, err
			}
		}
		return onward, nil
	}, p.end(endTag)
}

// targets parses the names that a statement sets: x, or x, y, also in parentheses.
func (p *parser) targets() (names []string, err error) {
	inside := p.accept("(")
	for {
		n, err := p.name()
		if err != nil {
			return nil, err
		}
		names = append(names, n)
		if !p.accept(",") {
			break
		}
	}
	if inside {
		err = p.want(")")
	}
	return names, err
}

// assign sets names to a value, or to the items of a value.
func (f *frame) assign(names []string, v any) error {
	if len(names) == 1 {
		f.vars[names[0]] = v
		return f.step()
	}
	list, err := f.items(v)
	if err == nil && len(list) != len(names) {
		err = errors.Errorf("got %d values for %d names", len(list), len(names))
	}
	if err != nil {
		return err
	}
	for i, n := range names {
		f.vars[n] = list[i]
	}
	return f.step()
}

// set parses the rest of {% set x = … %}, {% set x, y = … %}, {% set ns.x = … %} or {% set x %}…{% endset %}.
func (p *parser) set() (body, error) {
	names, err := p.targets()
	if err != nil {
		return nil, err
	}
	attribute := ""
	if len(names) == 1 && p.accept(".") {
		if attribute, err = p.name(); err != nil {
			return nil, err
		}
	}
	var value expr
	if p.accept("=") {
		if value, err = p.tuple(); err == nil {
			err = p.end(endTag)
		}
	} else {
		value, err = p.filtered("endset")
	}
	return func(f *frame) (leave, error) {
		v, err := value(f)
		if err != nil || attribute == "" {
			if err == nil {
				err = f.assign(names, v)
			}
			return onward, err
		}
		to, ok := f.find(names[0]).(namespace)
		if !ok {
			return onward, errors.Errorf("%s is no namespace, so %s.%s cannot be set", names[0], names[0], attribute)
		}
		return onward, f.put(to.Object, plain(attribute), v)
	}, err
}

// filtered parses filters and a body, and returns the text of the body after the filters.
func (p *parser) filtered(until string) (expr, error) {
	ops, err := p.filters()
	if err != nil {
		return nil, err
	}
	b, err := p.inside(until)
	return applied(captured(b), ops), err
}

// filterBlock parses the rest of {% filter … %}…{% endfilter %}.
func (p *parser) filterBlock() (body, error) {
	first, err := p.filter()
	if err != nil {
		return nil, err
	}
	ops, err := p.filters()
	if err != nil {
		return nil, err
	}
	b, err := p.inside("endfilter")
	return written(applied(captured(b), append([]op{first}, ops...))), err
}

// written writes the text of an expression.
func written(e expr) body {
	return func(f *frame) (leave, error) {
		v, err := e(f)
		if err != nil {
			return onward, err
		}
		t, err := f.show(v)
		if err != nil {
			return onward, err
		}
		return onward, f.write(t)
	}
}

// captured returns the text that statements write.
func captured(b body) expr {
	return func(f *frame) (any, error) {
		inside := f.inner()
		inside.out = &output{}
		if _, err := b(inside); err != nil {
			return nil, err
		}
		return f.concat(inside.out.parts)
	}
}
