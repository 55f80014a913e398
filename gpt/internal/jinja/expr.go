package jinja

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// expr computes a value.
type expr func(*frame) (any, error)

func constant(v any) expr { return func(*frame) (any, error) { return v, nil } }

// tuple parses an expression, or several with commas between them.
func (p *parser) tuple() (expr, error) { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(part func() (expr, error)) (expr, error) {
	e, err := part()
	if err != nil || !p.is(",") {
		return e, err
	}
	list := []expr{e}
	for p.accept(",") {
		if k := p.peek().kind; k == endTag || k == endOut || p.is("in") || p.is(")") {
			break
		}
		if e, err = part(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return listed(list, true), nil
}

// expression parses a if b else c, or anything simpler.
func (p *parser) expression() (expr, error) {
	done, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer done()
	yes, err := p.or()
	for err == nil && p.accept("if") {
		then, test, no := yes, expr(nil), constant(undefined{"the value of an if without else"})
		if test, err = p.or(); err == nil && p.accept("else") {
			no, err = p.expression()
		}
		yes = func(f *frame) (any, error) {
			v, err := test(f)
			if err != nil {
				return nil, err
			}
			if truth(v) {
				return then(f)
			}
			return no(f)
		}
	}
	return yes, err
}

// chain parses operands of one level of precedence, and combines them from left to right.
func (p *parser) chain(operand func() (expr, error), operators ...string) (expr, error) {
	first, err := operand()
	if err != nil || !slices.ContainsFunc(operators, p.is) {
		return first, err
	}
	var by []string
	var others []expr
	for slices.ContainsFunc(operators, p.is) {
		by = append(by, p.next().text)
		e, err := operand()
		if err != nil {
			return nil, err
		}
		others = append(others, e)
	}
	return func(f *frame) (any, error) {
		v, err := first(f)
		for i, e := range others {
			if err != nil || by[i] == "or" && truth(v) || by[i] == "and" && !truth(v) {
				return v, err
			}
			var right any
			if right, err = e(f); err == nil {
				v, err = f.binary(by[i], v, right)
			}
		}
		return v, err
	}, nil
}

func (p *parser) or() (expr, error)  { return p.chain(p.and, "or") }
func (p *parser) and() (expr, error) { return p.chain(p.not, "and") }

func (p *parser) not() (expr, error) {
	if !p.accept("not") {
		return p.compare()
	}
	done, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer done()
	e, err := p.not()
	return func(f *frame) (any, error) {
		v, err := e(f)
		return !truth(v), err
	}, err
}

// compare parses comparisons: a < b < c means a < b and b < c.
func (p *parser) compare() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
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
			return first, nil
		default:
			return func(f *frame) (any, error) { return f.comparisons(first, by, others) }, nil
		}
		p.next()
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		by, others = append(by, op), append(others, e)
	}
}

// comparisons compares each value with the one before it, until one comparison is false.
func (f *frame) comparisons(first expr, by []string, others []expr) (any, error) {
	left, err := first(f)
	for i := 0; i < len(others) && err == nil; i++ {
		var right any
		if right, err = others[i](f); err != nil {
			break
		}
		var is bool
		if is, err = f.comparison(by[i], left, right); !is {
			break
		}
		if i == len(others)-1 {
			return true, nil
		}
		left = right
	}
	return false, err
}

func (p *parser) sum() (expr, error)     { return p.chain(p.concat, "+", "-") }
func (p *parser) product() (expr, error) { return p.chain(p.power, "*", "/", "//", "%") }
func (p *parser) power() (expr, error)   { return p.chain(p.filteredUnary, "**") }

// concat parses texts that are joined at once: a ~ b ~ c.
func (p *parser) concat() (expr, error) {
	first, err := p.product()
	if err != nil || !p.is("~") {
		return first, err
	}
	list := []expr{first}
	for p.accept("~") {
		e, err := p.product()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return func(f *frame) (any, error) {
		parts := make([]Text, len(list))
		for i, e := range list {
			v, err := e(f)
			if err == nil {
				parts[i], err = f.show(v)
				parts[i].safe = false // as Jinja2 does
			}
			if err != nil {
				return nil, err
			}
		}
		return f.concat(parts)
	}, nil
}

// filteredUnary parses a value with its sign, and the filters and tests of both.
func (p *parser) filteredUnary() (expr, error) {
	e, err := p.unary()
	if err != nil {
		return nil, err
	}
	ops, err := p.filters()
	return applied(e, ops), err
}

func (p *parser) unary() (expr, error) {
	negative := p.is("-")
	if !negative && !p.is("+") {
		e, err := p.primary()
		if err != nil {
			return nil, err
		}
		ops, err := p.postfix()
		return applied(e, ops), err
	}
	p.next()
	done, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer done()
	e, err := p.unary()
	return func(f *frame) (any, error) {
		v, err := e(f)
		if err != nil {
			return nil, err
		}
		if _, ok := numeric(v); !ok {
			return nil, errors.Errorf("cannot change the sign of %s", typeOf(v))
		}
		if !negative {
			return v, nil
		}
		return f.binary("*", v, -1)
	}, err
}

// primary parses a value without the attributes, calls and filters after it.
func (p *parser) primary() (expr, error) {
	p.called = nil
	switch t := p.peek(); t.kind {
	case quoted:
		var s strings.Builder
		for p.peek().kind == quoted {
			s.WriteString(p.next().text)
		}
		return constant(plain(s.String())), nil
	case number:
		digits := strings.ReplaceAll(t.text, "_", "")
		if strings.ContainsAny(digits, ".eE") {
			x, err := strconv.ParseFloat(digits, 64)
			if err != nil {
				return nil, p.fail("got %.32q, want a number", t.text)
			}
			p.next()
			return constant(x), nil
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, p.fail("got %.32q, want a number of 64 bits", t.text)
		}
		p.next()
		return constant(n), nil
	case name:
		p.next()
		switch t.text {
		case "true", "True":
			return constant(true), nil
		case "false", "False":
			return constant(false), nil
		case "none", "None":
			return constant(nil), nil
		}
		return func(f *frame) (any, error) { return f.find(t.text), f.step() }, nil
	case operator:
		switch t.text {
		case "(":
			p.next()
			if p.accept(")") {
				return listed(nil, true), nil
			}
			e, err := p.tuple()
			if err == nil {
				err = p.want(")")
			}
			p.called = nil
			return e, err
		case "[":
			p.next()
			list, err := p.list("]")
			return listed(list, false), err
		case "{":
			p.next()
			return p.object()
		}
	}
	return nil, p.fail("got %.32q, want a value", p.peek().text)
}

// listed returns a list or a tuple.
func listed(list []expr, isTuple bool) expr {
	return func(f *frame) (any, error) {
		if err := f.each(len(list), 64); err != nil {
			return nil, err
		}
		values := make([]any, len(list))
		for i, e := range list {
			v, err := e(f)
			if err != nil {
				return nil, err
			}
			values[i] = v
		}
		if isTuple {
			return tuple(values), nil
		}
		return values, nil
	}
}

// list parses expressions up to a bracket.
func (p *parser) list(end string) (list []expr, err error) {
	for !p.accept(end) {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.accept(",") && !p.is(end) {
			return nil, p.want(end)
		}
	}
	p.called = nil
	return list, nil
}

func (p *parser) object() (expr, error) {
	var keys, values []expr
	for !p.accept("}") {
		key, err := p.expression()
		if err == nil {
			err = p.want(":")
		}
		if err != nil {
			return nil, err
		}
		value, err := p.expression()
		if err != nil {
			return nil, err
		}
		keys, values = append(keys, key), append(values, value)
		if !p.accept(",") && !p.is("}") {
			return nil, p.want("}")
		}
	}
	p.called = nil
	return func(f *frame) (any, error) {
		o := &Object{}
		for i := range keys {
			key, err := keys[i](f)
			if err != nil {
				return nil, err
			}
			value, err := values[i](f)
			if err == nil {
				err = f.put(o, key, value)
			}
			if err != nil {
				return nil, err
			}
		}
		return o, nil
	}, nil
}
