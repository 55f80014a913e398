package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// expr computes a value.
type expr func(*frame) any

func constant(v any) expr { return func(*frame) any { return v } }

// tuple parses an expression, or several with commas between them.
func (p *parser) tuple() expr { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(part func() expr) expr {
	list := []expr{part()}
	if !p.is(",") {
		return list[0]
	}
	for p.accept(",") {
		if k := p.peek().kind; k == endTag || k == endOut || p.is("in") || p.is(")") {
			break
		}
		list = append(list, part())
	}
	return listed(list, true)
}

// expression parses a if b else c, or anything simpler.
func (p *parser) expression() expr {
	defer p.enter()()
	yes := p.or()
	for p.accept("if") {
		then, test, no := yes, p.or(), constant(undefined{"the value of an if without else"})
		if p.accept("else") {
			no = p.expression()
		}
		yes = func(f *frame) any {
			if truth(test(f)) {
				return then(f)
			}
			return no(f)
		}
	}
	return yes
}

// chain parses operands of one level of precedence, and combines them from left to right.
func (p *parser) chain(operand func() expr, operators ...string) expr {
	first := operand()
	if !slices.ContainsFunc(operators, p.is) {
		return first
	}
	var by []string
	var others []expr
	for slices.ContainsFunc(operators, p.is) {
		by, others = append(by, p.next().text), append(others, operand())
	}
	return func(f *frame) any {
		v := first(f)
		for i, e := range others {
			if by[i] == "or" && truth(v) || by[i] == "and" && !truth(v) {
				return v
			}
			v = f.binary(by[i], v, e(f))
		}
		return v
	}
}

func (p *parser) or() expr  { return p.chain(p.and, "or") }
func (p *parser) and() expr { return p.chain(p.not, "and") }

func (p *parser) not() expr {
	if !p.accept("not") {
		return p.compare()
	}
	defer p.enter()()
	e := p.not()
	return func(f *frame) any { return !truth(e(f)) }
}

// compare parses comparisons: a < b < c means a < b and b < c.
func (p *parser) compare() expr {
	first := p.sum()
	var by []string
	var others []expr
	for {
		op := p.peek().text
		switch {
		case slices.ContainsFunc([]string{"==", "!=", "<", ">", "<=", ">=", "in"}, p.is):
		case p.is("not") && p.after(1).text == "in":
			p.next()
			op = "not in"
		case len(by) == 0:
			return first
		default:
			return func(f *frame) any {
				left, right := first(f), any(nil)
				for i, e := range others {
					f.step()
					if right = e(f); !f.comparison(by[i], left, right) {
						return false
					}
					left = right
				}
				return true
			}
		}
		p.next()
		by, others = append(by, op), append(others, p.sum())
	}
}

func (p *parser) sum() expr     { return p.chain(p.concat, "+", "-") }
func (p *parser) product() expr { return p.chain(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr   { return p.chain(p.filteredUnary, "**") }

// concat parses texts that are joined at once: a ~ b ~ c.
func (p *parser) concat() expr {
	list := []expr{p.product()}
	if !p.is("~") {
		return list[0]
	}
	for p.accept("~") {
		list = append(list, p.product())
	}
	return func(f *frame) any {
		f.each(len(list), 64)
		parts := make([]Text, len(list))
		for i, e := range list {
			parts[i] = f.show(e(f))
			parts[i].safe = false // as Jinja2 does
		}
		return f.concat(parts)
	}
}

// filteredUnary parses a value with its sign, and the filters and tests of both.
func (p *parser) filteredUnary() expr {
	e := p.unary()
	return applied(e, p.filters())
}

func (p *parser) unary() expr {
	negative := p.is("-")
	if !negative && !p.is("+") {
		e := p.primary()
		return applied(e, p.postfix())
	}
	p.next()
	defer p.enter()()
	e := p.unary()
	return func(f *frame) any {
		v := e(f)
		if _, ok := numeric(v); !ok {
			panic(failure("cannot change the sign of %s", typeOf(v)))
		}
		if negative {
			v = f.binary("*", v, -1)
		}
		return v
	}
}

// primary parses a value without the attributes, calls and filters after it.
func (p *parser) primary() expr {
	t := p.peek()
	var e expr
	switch {
	case t.kind == quoted:
		var s strings.Builder
		for p.peek().kind == quoted {
			s.WriteString(p.next().text)
		}
		e = constant(plain(s.String()))
	case t.kind == number:
		e = constant(p.number(p.next().text))
	case t.kind == name:
		p.next()
		switch t.text {
		case "true", "True":
			e = constant(true)
		case "false", "False":
			e = constant(false)
		case "none", "None":
			e = constant(nil)
		default:
			e = func(f *frame) any {
				f.step()
				return f.find(t.text)
			}
		}
	case p.accept("("):
		e = listed(nil, true)
		if !p.accept(")") {
			e = p.tuple()
			p.want(")")
		}
	case p.accept("["):
		e = p.list()
	case p.accept("{"):
		e = p.object()
	default:
		panic(p.fail("got %.32q, want a value", t.text))
	}
	p.called = nil
	return e
}

func (p *parser) number(digits string) any {
	digits = strings.ReplaceAll(digits, "_", "")
	var v any
	var err error
	if strings.ContainsAny(digits, ".eE") {
		v, err = strconv.ParseFloat(digits, 64)
	} else {
		v, err = strconv.Atoi(digits)
	}
	if err != nil {
		panic(failure("got %.32q, want a number of 64 bits", digits))
	}
	return v
}

// listed returns a list or a tuple.
func listed(list []expr, isTuple bool) expr {
	return func(f *frame) any {
		f.each(len(list)+1, 64)
		values := make([]any, len(list))
		for i, e := range list {
			values[i] = e(f)
		}
		if isTuple {
			return tuple(values)
		}
		return values
	}
}

func (p *parser) list() expr {
	var list []expr
	for !p.accept("]") {
		list = append(list, p.expression())
		p.comma("]")
	}
	return listed(list, false)
}

func (p *parser) object() expr {
	var keys, values []expr
	for !p.accept("}") {
		keys = append(keys, p.expression())
		p.want(":")
		values = append(values, p.expression())
		p.comma("}")
	}
	return func(f *frame) any {
		f.step()
		o := &Object{}
		for i := range keys {
			f.put(o, keys[i](f), values[i](f))
		}
		return o
	}
}
