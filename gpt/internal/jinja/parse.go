package jinja

import "slices"

// parser turns the tokens of a template into functions.
type parser struct {
	*lexer
	ahead  []piece // tokens that have been read
	nested int
	tables tables
	called *arguments // of the call that the last expression ends with
}

// body evaluates statements. It returns how they end.
type body func(*frame) leave

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

// fail returns a fault at the next token.
func (p *parser) fail(format string, args ...any) fault {
	p.line = p.peek().line
	return failure(format, args...)
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

func (p *parser) want(text string) {
	if !p.accept(text) {
		panic(p.fail("got %.32q, want %s", p.peek().text, text))
	}
}

// comma skips a comma, which may be left out before the end of a list.
func (p *parser) comma(end string) {
	if !p.accept(",") && !p.is(end) {
		p.want(end)
	}
}

func (p *parser) end(k kind) {
	if p.peek().kind != k {
		panic(p.fail("got %.32q, want the end of the tag", p.peek().text))
	}
	p.next()
}

func (p *parser) name() string {
	if p.peek().kind != name {
		panic(p.fail("got %.32q, want a name", p.peek().text))
	}
	return p.next().text
}

// enter counts nested expressions and statements, until the function that it returns is called.
func (p *parser) enter() (done func()) {
	if p.nested++; p.nested > maxNested {
		panic(p.fail("more than %d expressions and statements within each other", maxNested))
	}
	return func() { p.nested-- }
}

// block parses up to a tag with one of the words, which remains, or up to the end of the template.
func (p *parser) block(until ...string) body {
	defer p.enter()()
	var list []body
	for {
		switch t := p.peek(); t.kind {
		case endOfFile:
			if len(until) > 0 {
				panic(p.fail("a statement has no %s", until[len(until)-1]))
			}
			return sequence(list)
		case data:
			p.next()
			text := plain(t.text)
			list = append(list, func(f *frame) leave {
				f.write(text)
				return onward
			})
		case beginOut:
			p.next()
			list = append(list, lined(t.line, written(p.tuple())))
			p.end(endOut)
		default: // beginTag
			if slices.Contains(until, p.after(1).text) {
				return sequence(list)
			}
			p.next()
			list = append(list, lined(t.line, p.statement()))
		}
	}
}

// lined returns a body with the line that its faults have.
func lined(line int, b body) body {
	return func(f *frame) leave {
		f.line = line
		return b(f)
	}
}

// inside parses the end of a tag and all up to the tag with the word, which it skips.
func (p *parser) inside(until string) body {
	p.end(endTag)
	b := p.block(until)
	p.next()
	p.next()
	p.end(endTag)
	return b
}

func sequence(list []body) body {
	return func(f *frame) leave {
		for _, b := range list {
			f.step()
			if how := b(f); how != onward {
				return how
			}
		}
		return onward
	}
}

func (p *parser) statement() body {
	switch word := p.name(); word {
	case "if":
		return p.conditional()
	case "for":
		return p.loop()
	case "set":
		return p.set()
	case "macro":
		return p.macro()
	case "call":
		return p.callBlock()
	case "filter":
		ops := append([]op{p.filter()}, p.filters()...)
		return written(applied(captured(p.inside("endfilter")), ops))
	case "generation": // Hugging Face's mark of the tokens to learn
		return p.inside("endgeneration")
	case "break", "continue":
		p.end(endTag)
		how := map[string]leave{"break": breaks, "continue": continues}[word]
		return func(*frame) leave { return how }
	default:
		panic(p.fail("unknown statement %.32q", word))
	}
}

// conditional parses the rest of {% if … %}, up to {% endif %}.
func (p *parser) conditional() body {
	var tests []expr
	var bodies []body
	for word := "if"; word != "endif"; word = p.next().text {
		test, ends := constant(true), []string{"endif"}
		if word != "else" {
			test, ends = p.tuple(), []string{"elif", "else", "endif"}
		}
		p.end(endTag)
		tests, bodies = append(tests, test), append(bodies, p.block(ends...))
		p.next()
	}
	p.end(endTag)
	return func(f *frame) leave {
		for i, test := range tests {
			if truth(test(f)) {
				return bodies[i](f)
			}
			f.step()
		}
		return onward
	}
}

// targets parses the names that a statement sets: x, or x, y, also in parentheses.
func (p *parser) targets() (names []string) {
	inside := p.accept("(")
	for names = append(names, p.name()); p.accept(","); {
		names = append(names, p.name())
	}
	if inside {
		p.want(")")
	}
	return names
}

// assign sets names to a value, or to the items of a value.
func (f *frame) assign(names []string, v any) {
	f.step()
	if len(names) == 1 {
		f.vars[names[0]] = v
		return
	}
	list := f.items(v)
	if len(list) != len(names) {
		panic(failure("got %d values for %d names", len(list), len(names)))
	}
	for i, n := range names {
		f.vars[n] = list[i]
	}
}

// set parses the rest of {% set x = … %}, {% set x, y = … %}, {% set ns.x = … %} or {% set x %}…{% endset %}.
func (p *parser) set() body {
	names, attribute := p.targets(), ""
	if len(names) == 1 && p.accept(".") {
		attribute = p.name()
	}
	var value expr
	if p.accept("=") {
		value = p.tuple()
		p.end(endTag)
	} else {
		ops := p.filters()
		value = applied(captured(p.inside("endset")), ops)
	}
	return func(f *frame) leave {
		v := value(f)
		if attribute == "" {
			f.assign(names, v)
			return onward
		}
		to, ok := f.find(names[0]).(namespace)
		if !ok {
			panic(failure("%s is no namespace, so %s.%s cannot be set", names[0], names[0], attribute))
		}
		f.put(to.Object, plain(attribute), v)
		return onward
	}
}

// written writes the text of an expression.
func written(e expr) body {
	return func(f *frame) leave {
		f.write(f.show(e(f)))
		return onward
	}
}

// captured returns the text that statements write.
func captured(b body) expr {
	return func(f *frame) any {
		inside := f.inner()
		inside.out = &output{}
		b(inside)
		return f.concat(inside.out.parts)
	}
}
