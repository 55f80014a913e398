package jinja

import (
	"slices"

	"github.com/pkg/errors"
)

// macro is a function that a template defines.
type macro struct {
	name     string
	names    []string
	defaults map[string]expr
	body     expr
}

// macro parses the rest of {% macro name(a, b=1) %}…{% endmacro %}.
func (p *parser) macro() (body, error) {
	called, err := p.name()
	if err != nil {
		return nil, err
	}
	m := macro{name: called}
	if err = p.want("("); err == nil {
		err = p.signature(&m)
	}
	if err != nil {
		return nil, err
	}
	b, err := p.inside("endmacro")
	m.body = captured(b)
	return func(f *frame) (leave, error) {
		f.vars[called] = m.function(f)
		return onward, nil
	}, err
}

// signature parses the parameters of a macro, up to the closing parenthesis.
func (p *parser) signature(m *macro) error {
	m.defaults = map[string]expr{}
	for !p.accept(")") {
		n, err := p.name()
		if err == nil && p.accept("=") {
			m.defaults[n], err = p.expression()
		}
		m.names = append(m.names, n)
		if err == nil && !p.accept(",") && !p.is(")") {
			err = p.want(")")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// callBlock parses the rest of {% call(x) m(…) %}…{% endcall %}: the macro calls the body as caller.
func (p *parser) callBlock() (body, error) {
	m := macro{name: "caller", defaults: map[string]expr{}}
	if p.accept("(") {
		if err := p.signature(&m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	a := p.called
	if a == nil {
		return nil, p.fail("want a call")
	}
	b, err := p.inside("endcall")
	m.body = captured(b)
	a.names = append(a.names, "caller")
	a.list = append(a.list, func(f *frame) (any, error) { return m.function(f), nil })
	return written(e), err
}

// function returns the function of a macro that a frame defines.
func (m macro) function(defined *frame) function {
	return func(f *frame, list []argument) (any, error) {
		inside := &frame{run: f.run, out: f.out, vars: map[string]any{}, outer: defined}
		n := 0
		for _, a := range list {
			to := a.name
			if to == "" && n < len(m.names) {
				to = m.names[n]
			} else if to != "caller" && !slices.Contains(m.names, to) {
				return nil, errors.Errorf("%s: got too many arguments, or one of an unknown name %.32q, want %d",
					m.name, to, len(m.names))
			}
			if a.name == "" {
				n++
			}
			if _, twice := inside.vars[to]; twice {
				return nil, errors.Errorf("%s: %s: got two values", m.name, to)
			}
			inside.vars[to] = a.value
		}
		for _, to := range m.names {
			if _, given := inside.vars[to]; given {
				continue
			}
			inside.vars[to] = undefined{to}
			if otherwise := m.defaults[to]; otherwise != nil {
				v, err := otherwise(inside)
				if err != nil {
					return nil, err
				}
				inside.vars[to] = v
			}
		}
		return m.body(inside)
	}
}
