package jinja

import (
	"slices"
	"strings"
)

// tests returns the tests of a is b by name.
func tests() map[string]row {
	is := func(kinds ...string) row {
		return row{"", func(_ *frame, v any, _ args) (any, error) {
			kind := typeOf(v)
			if _, missing := v.(undefined); missing {
				kind = "undefined"
			}
			return slices.Contains(kinds, kind), nil
		}}
	}
	not := func(r row) row {
		return row{r.params, func(f *frame, v any, a args) (any, error) {
			is, err := r.do(f, v, a)
			return !truth(is), err
		}}
	}
	compares := func(op string) row {
		return row{"other", func(f *frame, v any, a args) (any, error) { return f.comparison(op, v, a.at[0]) }}
	}
	value := func(want any) row {
		return row{"", func(_ *frame, v any, _ args) (any, error) { return v == want, nil }}
	}
	divided := func(by, rest int) row {
		return row{"", func(f *frame, v any, _ args) (any, error) {
			got, err := f.binary("%", v, by)
			return got == rest || got == float64(rest), err
		}}
	}
	cased := func(name string, has func(s string) string) row {
		return row{"", func(f *frame, v any, _ args) (any, error) {
			t, err := f.show(v)
			if err == nil {
				err = f.each(len(t.S), 4)
			}
			return err == nil && has(t.S) == t.S && strings.ToLower(t.S) != strings.ToUpper(t.S), err
		}}
	}
	return map[string]row{
		"undefined": is("undefined"), "defined": not(is("undefined")), "none": is("none"), "string": is("a text"),
		"number": is("a number", "a truth value"), "boolean": is("a truth value"), "mapping": is("an object"),
		"callable": is("a function"), "iterable": is("a list", "a tuple", "a text", "an object", "undefined"),
		"sequence": is("a list", "a tuple", "a text", "an object", "undefined"),
		"integer": {"", func(_ *frame, v any, _ args) (any, error) {
			_, is := v.(int)
			return is, nil
		}},
		"float": {"", func(_ *frame, v any, _ args) (any, error) {
			_, is := v.(float64)
			return is, nil
		}},
		"true": value(true), "false": value(false), "odd": divided(2, 1), "even": divided(2, 0),
		"divisibleby": {"num", func(f *frame, v any, a args) (any, error) {
			rest, err := f.binary("%", v, a.at[0])
			return rest == 0 || rest == 0.0, err
		}},
		"sameas": {"other", func(f *frame, v any, a args) (any, error) {
			if typeOf(v) != typeOf(a.at[0]) {
				return false, nil
			}
			return f.equal(v, a.at[0])
		}},
		"lower": cased("lower", strings.ToLower), "upper": cased("upper", strings.ToUpper),
		"equalto": compares("=="), "eq": compares("=="), "ne": compares("!="), "lt": compares("<"),
		"lessthan": compares("<"), "le": compares("<="), "gt": compares(">"), "greaterthan": compares(">"),
		"ge": compares(">="), "in": compares("in"),
	}
}
