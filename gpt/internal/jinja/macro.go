package jinja

import "slices"

// macro is a function that a template defines.
type macro struct {
	name     string
	names    []string
	defaults map[string]expr
	body     expr
}

// macro parses the rest of {% macro name(a, b=1) %}…{% endmacro %}.
func (p *parser) macro() body {
	m := macro{name: p.name()}
	p.want("(")
	p.signature(&m)
	m.body = captured(p.inside("endmacro"))
	return func(f *frame) leave {
		f.vars[m.name] = m.function(f)
		return onward
	}
}

// signature parses the parameters of a macro, up to the closing parenthesis.
func (p *parser) signature(m *macro) {
	m.defaults = map[string]expr{}
	for !p.accept(")") {
		n := p.name()
		if p.accept("=") {
			m.defaults[n] = p.expression()
		}
		m.names = append(m.names, n)
		p.comma(")")
	}
}

// callBlock parses the rest of {% call(x) m(…) %}…{% endcall %}: the macro calls the body as caller.
func (p *parser) callBlock() body {
	m := macro{name: "caller"}
	if p.accept("(") {
		p.signature(&m)
	}
	e, a := p.expression(), p.called
	if a == nil {
		panic(p.fail("want a call"))
	}
	m.body = captured(p.inside("endcall"))
	a.names = append(a.names, "caller")
	a.list = append(a.list, func(f *frame) any { return m.function(f) })
	return written(e)
}

// function returns the function of a macro that a frame defines.
func (m macro) function(defined *frame) function {
	return func(f *frame, list []argument) any {
		inside := defined.inner()
		n := 0
		for _, a := range list {
			to := a.name
			if to == "" && n < len(m.names) {
				to = m.names[n]
			} else if to != "caller" && !slices.Contains(m.names, to) {
				panic(failure("%s: got too many arguments, or one of an unknown name %.32q, want %d",
					m.name, to, len(m.names)))
			}
			if a.name == "" {
				n++
			}
			if _, twice := inside.vars[to]; twice {
				panic(failure("%s: %s: got two values", m.name, to))
			}
			inside.vars[to] = a.value
		}
		for _, to := range m.names {
			if _, given := inside.vars[to]; given {
				continue
			}
			inside.vars[to] = undefined{to}
			if otherwise := m.defaults[to]; otherwise != nil {
				inside.vars[to] = otherwise(inside)
			}
		}
		return m.body(inside)
	}
}
