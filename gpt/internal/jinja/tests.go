package jinja

import (
	"slices"
	"strings"
)

// tests returns the tests of a is b by name.
func tests() map[string]row {
	when := func(is func(v any) bool) row { return row{"", func(_ *frame, v any, _ args) any { return is(v) }} }
	is := func(kinds ...string) row {
		return when(func(v any) bool {
			_, missing := v.(undefined)
			return slices.Contains(kinds, typeOf(v)) || missing && slices.Contains(kinds, "undefined")
		})
	}
	compares := func(op string) row {
		return row{"other", func(f *frame, v any, a args) any { return f.comparison(op, v, a.at[0]) }}
	}
	divided := func(rest int) row {
		return row{"", func(f *frame, v any, _ args) any { return f.equal(f.binary("%", v, 2), rest) }}
	}
	cased := func(change func(s string) string) row {
		return row{"", func(f *frame, v any, _ args) any {
			s := f.show(v).S
			f.each(len(s), 6)
			return change(s) == s && strings.ToLower(s) != strings.ToUpper(s)
		}}
	}
	return map[string]row{
		"undefined": is("undefined"), "none": is("none"), "string": is("a text"),
		"number": is("a number", "a truth value"), "boolean": is("a truth value"), "mapping": is("an object"),
		"callable": is("a function"), "iterable": is("a list", "a tuple", "a text", "an object", "undefined"),
		"sequence": is("a list", "a tuple", "a text", "an object", "undefined"),
		"defined":  when(func(v any) bool { _, missing := v.(undefined); return !missing }),
		"integer":  when(func(v any) bool { _, is := v.(int); return is }),
		"float":    when(func(v any) bool { _, is := v.(float64); return is }),
		"true":     when(func(v any) bool { return v == true }),
		"false":    when(func(v any) bool { return v == false }),
		"odd":      divided(1), "even": divided(0), "lower": cased(strings.ToLower), "upper": cased(strings.ToUpper),
		"divisibleby": {"num", func(f *frame, v any, a args) any { return f.equal(f.binary("%", v, a.at[0]), 0) }},
		"sameas": {"other", func(f *frame, v any, a args) any {
			return typeOf(v) == typeOf(a.at[0]) && f.equal(v, a.at[0])
		}},
		"equalto": compares("=="), "eq": compares("=="), "ne": compares("!="), "lt": compares("<"),
		"lessthan": compares("<"), "le": compares("<="), "gt": compares(">"), "greaterthan": compares(">"),
		"ge": compares(">="), "in": compares("in"),
	}
}
