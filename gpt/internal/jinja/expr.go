package jinja

import (
	"math"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// expr computes a value.
type expr func(*frame) (any, error)

func constant(v any) expr { return func(*frame) (any, error) { return v, nil } }

// expression parses a if b else c, or anything simpler.
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
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
	left, err := operand()
	for err == nil {
		op := ""
		for _, o := range operators {
			if p.is(o) {
				op = o
			}
		}
		if op == "" {
			break
		}
		p.at++
		var right expr
		right, err = operand()
		left = binary(op, left, right)
	}
	return left, err
}

func (p *parser) or() (expr, error)  { return p.chain(p.and, "or") }
func (p *parser) and() (expr, error) { return p.chain(p.not, "and") }

func (p *parser) not() (expr, error) {
	if !p.accept("not") {
		return p.compare()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
	e, err := p.not()
	return func(f *frame) (any, error) {
		v, err := e(f)
		return !truth(v), err
	}, err
}

// compare parses comparisons: a < b < c means a < b and b < c.
func (p *parser) compare() (expr, error) {
	left, err := p.sum()
	var all expr
	for err == nil {
		op := p.peek().text
		switch {
		case p.accept("=="), p.accept("!="), p.accept("<"), p.accept(">"), p.accept("<="), p.accept(">="),
			p.accept("in"):
		case p.is("not") && p.tokens[p.at+1].text == "in":
			p.at += 2
			op = "not in"
		default:
			if all != nil {
				return all, nil
			}
			return left, nil
		}
		var right expr
		if right, err = p.sum(); err != nil {
			break
		}
		this := binary(op, left, right)
		if all != nil {
			this = binary("and", all, this)
		}
		all, left = this, right
	}
	return nil, err
}

func (p *parser) sum() (expr, error)     { return p.chain(p.concat, "+", "-") }
func (p *parser) concat() (expr, error)  { return p.chain(p.product, "~") }
func (p *parser) product() (expr, error) { return p.chain(p.unary, "*", "/", "//", "%") }

func (p *parser) unary() (expr, error) {
	negative := p.is("-")
	if !negative && !p.is("+") {
		return p.postfix()
	}
	p.at++
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.nested-- }()
	e, err := p.unary()
	return func(f *frame) (any, error) {
		v, err := e(f)
		if err != nil || !negative {
			return v, err
		}
		return f.binary("-", 0, v)
	}, err
}

// primary parses a value without the attributes, calls and filters after it.
func (p *parser) primary() (expr, error) {
	switch t := p.next(); t.kind {
	case quoted:
		s := t.text
		for p.peek().kind == quoted {
			s += p.next().text
		}
		return constant(plain(s)), nil
	case number:
		digits := strings.ReplaceAll(t.text, "_", "")
		if n, err := strconv.Atoi(digits); err == nil {
			return constant(n), nil
		}
		x, err := strconv.ParseFloat(digits, 64)
		if err != nil {
			return nil, p.fail("got %.32q, want a number", t.text)
		}
		return constant(x), nil
	case name:
		switch t.text {
		case "true", "True":
			return constant(true), nil
		case "false", "False":
			return constant(false), nil
		case "none", "None":
			return constant(nil), nil
		}
		return func(f *frame) (any, error) { return f.find(t.text), f.step(1) }, nil
	case operator:
		switch t.text {
		case "(":
			return p.parenthesis()
		case "[":
			list, err := p.list("]")
			return listed(list), err
		case "{":
			return p.object()
		}
	}
	p.at--
	return nil, p.fail("got %.32q, want a value", p.peek().text)
}

func listed(list []expr) expr {
	return func(f *frame) (any, error) {
		values := make([]any, len(list))
		for i, e := range list {
			v, err := e(f)
			if err != nil {
				return nil, err
			}
			values[i] = v
		}
		return values, f.step(len(list))
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
	return list, nil
}

// parenthesis parses a value in parentheses, or a tuple.
func (p *parser) parenthesis() (expr, error) {
	from := p.at
	list, err := p.list(")")
	if err == nil && len(list) == 1 && p.tokens[p.at-2].text != "," {
		return list[0], nil
	}
	if len(list) == 0 && err == nil && p.at != from+1 {
		err = p.fail("want a value")
	}
	return listed(list), err
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
	return func(f *frame) (any, error) {
		object := map[string]any{}
		for i := range keys {
			key, err := keys[i](f)
			if err != nil {
				return nil, err
			}
			name, ok := key.(Text)
			if !ok {
				return nil, errors.New("the key of an object is no text")
			}
			if object[name.S], err = values[i](f); err != nil {
				return nil, err
			}
		}
		return object, f.step(len(keys))
	}, nil
}

// binary combines two expressions.
func binary(op string, left, right expr) expr {
	return func(f *frame) (any, error) {
		a, err := left(f)
		if err != nil {
			return nil, err
		}
		if op == "or" && truth(a) || op == "and" && !truth(a) {
			return a, nil
		}
		b, err := right(f)
		if err != nil || op == "or" || op == "and" {
			return b, err
		}
		return f.binary(op, a, b)
	}
}

func (f *frame) binary(op string, a, b any) (any, error) {
	if err := f.step(1); err != nil {
		return nil, err
	}
	switch op {
	case "==":
		return f.equal(a, b), nil
	case "!=":
		return !f.equal(a, b), nil
	case "in", "not in":
		in, err := f.contains(b, a)
		return in == (op == "in"), err
	case "~":
		s, err := f.show(a)
		if err != nil {
			return nil, err
		}
		t, err := f.show(b)
		if err != nil {
			return nil, err
		}
		return f.join(s, t)
	}
	switch x := a.(type) {
	case Text:
		if y, ok := b.(Text); ok {
			return f.texts(op, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok && op == "+" {
			return append(append([]any{}, x...), y...), f.step(len(x) + len(y))
		}
	}
	x, whole, ok := numeric(a)
	y, too, both := numeric(b)
	if !ok || !both {
		return nil, errors.Errorf("cannot compute %s %s %s", typeOf(a), op, typeOf(b))
	}
	return arithmetic(op, x, y, whole && too)
}

func (f *frame) texts(op string, x, y Text) (any, error) {
	switch op {
	case "+":
		return f.join(x, y)
	case "<":
		return x.S < y.S, nil
	case ">":
		return x.S > y.S, nil
	case "<=":
		return x.S <= y.S, nil
	case ">=":
		return x.S >= y.S, nil
	}
	return nil, errors.Errorf("cannot compute a text %s a text", op)
}

// arithmetic computes with numbers: whole if both are, except for the quotient.
func arithmetic(op string, x, y float64, whole bool) (any, error) {
	var z float64
	switch op {
	case "<":
		return x < y, nil
	case ">":
		return x > y, nil
	case "<=":
		return x <= y, nil
	case ">=":
		return x >= y, nil
	case "+":
		z = x + y
	case "-":
		z = x - y
	case "*":
		z = x * y
	default:
		if y == 0 {
			return nil, errors.Errorf("cannot compute %v %s 0", x, op)
		}
		switch z = x / y; op {
		case "//":
			z = math.Floor(z)
		case "%":
			z = x - y*math.Floor(z)
		default:
			whole = false
		}
	}
	if whole && math.Abs(z) <= 1<<53 {
		return int(z), nil
	}
	return z, nil
}
