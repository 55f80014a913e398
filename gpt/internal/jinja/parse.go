package jinja

import (
	"slices"

	"github.com/pkg/errors"
)

// parser turns the tokens of a template into functions.
type parser struct {
	tokens []piece
	at     int
	nested int
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

func (p *parser) peek() piece { return p.tokens[p.at] }

func (p *parser) next() piece {
	t := p.tokens[p.at]
	if t.kind != endOfFile {
		p.at++
	}
	return t
}

func (p *parser) fail(format string, args ...any) error {
	return errors.WithMessagef(errors.Errorf(format, args...), "line %d", p.peek().line)
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
		p.at++
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
	p.at++
	return nil
}

func (p *parser) name() (string, error) {
	if t := p.next(); t.kind == name {
		return t.text, nil
	}
	p.at--
	return "", p.fail("got %.32q, want a name", p.peek().text)
}

// enter counts nested expressions and statements.
func (p *parser) enter() error {
	if p.nested++; p.nested > maxNested {
		return p.fail("more than %d expressions and statements within each other", maxNested)
	}
	return nil
}

// block parses up to a tag with one of the words, which remains.
func (p *parser) block(until ...string) (body, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
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
			p.at++
			text := plain(t.text)
			b = func(f *frame) (leave, error) { return onward, f.write(text) }
		case beginOut:
			p.at++
			b, err = p.output()
		case beginTag:
			if slices.Contains(until, p.tokens[p.at+1].text) {
				return sequence(list), nil
			}
			p.at++
			b, err = p.statement()
		default:
			err = p.fail("got %.32q outside of a tag", t.text)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, b)
	}
}

func sequence(list []body) body {
	return func(f *frame) (leave, error) {
		for _, b := range list {
			if err := f.step(1); err != nil {
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
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	return func(f *frame) (leave, error) {
		v, err := e(f)
		if err != nil {
			return onward, errors.WithMessagef(err, "line %d", line)
		}
		t, err := f.show(v)
		if err != nil {
			return onward, err
		}
		return onward, f.write(t)
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
	case "generation": // Hugging Face's mark of the tokens to learn
		if err = p.end(endTag); err == nil {
			b, err = p.block("endgeneration")
		}
		p.at += 2
		if err == nil {
			err = p.end(endTag)
		}
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
	test, err := p.expression()
	if err == nil {
		err = p.end(endTag)
	}
	if err != nil {
		return nil, err
	}
	yes, err := p.block("elif", "else", "endif")
	if err != nil {
		return nil, err
	}
	p.at++
	no := sequence(nil)
	switch word := p.next().text; word {
	case "elif":
		no, err = p.conditional()
	case "else":
		if err = p.end(endTag); err == nil {
			if no, err = p.block("endif"); err == nil {
				p.at += 2
				err = p.end(endTag)
			}
		}
	default:
		err = p.end(endTag)
	}
	return func(f *frame) (leave, error) {
		v, err := test(f)
		if err != nil {
			return onward, err
		}
		if truth(v) {
			return yes(f)
		}
		return no(f)
	}, err
}

// set parses the rest of {% set x = … %}, {% set ns.x = … %} or {% set x %}…{% endset %}.
func (p *parser) set() (body, error) {
	to, err := p.name()
	if err != nil {
		return nil, err
	}
	attribute := ""
	if p.accept(".") {
		if attribute, err = p.name(); err != nil {
			return nil, err
		}
	}
	var value expr
	if p.accept("=") {
		if value, err = p.expression(); err == nil {
			err = p.end(endTag)
		}
	} else if err = p.end(endTag); err == nil {
		var b body
		if b, err = p.block("endset"); err == nil {
			value = captured(b)
			p.at += 2
			err = p.end(endTag)
		}
	}
	return func(f *frame) (leave, error) {
		v, err := value(f)
		if err != nil {
			return onward, err
		}
		if attribute == "" {
			f.vars[to] = v
			return onward, nil
		}
		ns, ok := f.find(to).(namespace)
		if !ok {
			return onward, errors.Errorf("%s is no namespace, so %s.%s cannot be set", to, to, attribute)
		}
		ns.vars[attribute] = v
		return onward, nil
	}, err
}

// captured returns the text that statements write.
func captured(b body) expr {
	return func(f *frame) (any, error) {
		inside := &run{steps: f.steps, bytes: f.bytes, nested: f.nested}
		_, err := b(&frame{run: inside, vars: map[string]any{}, outer: f})
		f.steps, f.bytes = inside.steps, inside.bytes
		return inside.text(), err
	}
}

// macro parses the rest of {% macro name(a, b=1) %}…{% endmacro %}.
func (p *parser) macro() (body, error) {
	called, err := p.name()
	if err == nil {
		err = p.want("(")
	}
	var names []string
	defaults := map[string]expr{}
	for err == nil && !p.accept(")") {
		var n string
		if n, err = p.name(); err == nil && p.accept("=") {
			defaults[n], err = p.expression()
		}
		names = append(names, n)
		if err == nil && !p.accept(",") && !p.is(")") {
			err = p.want(")")
		}
	}
	if err == nil {
		err = p.end(endTag)
	}
	if err != nil {
		return nil, err
	}
	inside, err := p.block("endmacro")
	if err != nil {
		return nil, err
	}
	p.at += 2
	write := captured(inside)
	return func(f *frame) (leave, error) {
		f.vars[called] = function(func(caller *frame, args []any, named map[string]any) (any, error) {
			own := &frame{run: caller.run, vars: map[string]any{}, outer: f}
			for i, n := range names {
				value, given := named[n]
				switch d := defaults[n]; {
				case i < len(args):
					value = args[i]
				case given:
				case d == nil:
					value = undefined{n}
				default:
					var err error
					if value, err = d(own); err != nil {
						return nil, err
					}
				}
				own.vars[n] = value
			}
			return write(own)
		})
		return onward, nil
	}, p.end(endTag)
}
