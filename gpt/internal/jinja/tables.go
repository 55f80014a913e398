package jinja

import (
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// tables holds all that a template can call, by name.
type tables struct {
	filters, tests, functions map[string]row
	texts, objects            map[string]row // the methods of a text and of an object
}

func newTables() tables {
	return tables{filters: filters(), tests: tests(), functions: functions(), texts: textMethods(),
		objects: objectMethods()}
}

// row is a filter, a test, a function or a method. A new one is a row of its table.
type row struct {
	params string // the names of its parameters; * for any others, ** for any other names
	do     func(f *frame, v any, a args) any
}

// args holds the arguments of a row.
type args struct {
	at    []any // for each parameter; undefined if none is given
	more  []any
	named *Object
}

// apply calls a row of that name with a value.
func (r row) apply(f *frame, name string, v any, list []argument) any {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fault:
			panic(fault{errors.WithMessage(p.error, name)})
		default:
			panic(p)
		}
	}()
	return r.do(f, v, r.bind(list))
}

// function returns a row that is called as a function, or as a method of v.
func (r row) function(name string, v any) function {
	return func(f *frame, list []argument) any { return r.apply(f, name, v, list) }
}

// bind gives each parameter its argument.
func (r row) bind(list []argument) args {
	params := strings.Fields(r.params)
	many, named := false, false
	for n := len(params); n > 0 && strings.HasPrefix(params[n-1], "*"); n-- {
		many, named = many || params[n-1] == "*", named || params[n-1] == "**"
		params = params[:n-1]
	}
	a := args{at: make([]any, len(params)), named: &Object{}}
	for i, p := range params {
		a.at[i] = undefined{"the argument " + p}
	}
	n := 0
	for _, arg := range list {
		i := n
		if arg.name != "" {
			i = slices.Index(params, arg.name)
		} else {
			n++
		}
		switch {
		case i >= 0 && i < len(params) && !a.given(i):
			a.at[i] = arg.value
		case i >= len(params) && many:
			a.more = append(a.more, arg.value)
		case i < 0 && named:
			a.named.Set(plain(arg.name), arg.value)
		case arg.name != "":
			panic(failure("got an argument %.32s, want %q", arg.name, r.params))
		default:
			panic(failure("got %d arguments, want %q", n, r.params))
		}
	}
	return a
}

func (a args) given(i int) bool {
	_, missing := a.at[i].(undefined)
	return !missing
}

func (a args) truth(i int) bool { return truth(a.at[i]) }

// text returns an argument that is a text, or otherwise if it is not given or none.
func (a args) text(i int, otherwise string) Text {
	if a.given(i) && a.at[i] != nil {
		return a.wantText(i)
	}
	return plain(otherwise)
}

// wantText returns an argument that is a text.
func (a args) wantText(i int) Text {
	t, ok := a.at[i].(Text)
	if !ok {
		panic(failure("got %s, want a text", typeOf(a.at[i])))
	}
	return t
}

// whole returns an argument that is a whole number, or otherwise if it is not given or none.
func (a args) whole(i, otherwise int) int {
	if !a.given(i) || a.at[i] == nil {
		return otherwise
	}
	n, ok := wholeOf(a.at[i])
	if !ok {
		panic(failure("got %s, want a whole number", typeOf(a.at[i])))
	}
	return n
}

// functions returns the functions that a template can call.
func functions() map[string]row {
	return map[string]row{
		"range":     {"start stop step", numbers},
		"dict":      {"from **", func(f *frame, _ any, a args) any { return f.dict(a) }},
		"namespace": {"from **", func(f *frame, _ any, a args) any { return namespace{f.dict(a)} }},
		"raise_exception": {"message", func(_ *frame, _ any, a args) any {
			panic(failure("the template refuses this: %.400s", a.text(0, "").S))
		}},
		"strftime_now": {"format", func(f *frame, _ any, a args) any {
			format := a.wantText(0).S
			f.each(len(format), 40)
			return date(format, time.Now())
		}},
	}
}

// dict returns a copy of an object with other names set.
func (f *frame) dict(a args) *Object {
	o := &Object{}
	for _, v := range []any{a.at[0], a.named} {
		from, ok := v.(*Object)
		if _, missing := v.(undefined); missing {
			continue
		} else if !ok {
			panic(failure("got %s, want an object", typeOf(v)))
		}
		for i, key := range from.keys {
			f.put(o, key, from.values[i])
		}
	}
	return o
}

// maxRange is the largest number of items of a range, as in Jinja2's sandbox.
const maxRange = 100_000

// numbers returns range(to), range(from, to) or range(from, to, step).
func numbers(f *frame, _ any, a args) any {
	start, stop, step := a.whole(0, 0), a.whole(1, 0), a.whole(2, 1)
	if !a.given(0) || step == 0 {
		panic(failure("want one to three whole numbers, the last not 0"))
	}
	if !a.given(1) {
		start, stop = 0, start
	}
	span, stride := uint64(stop)-uint64(start), uint64(step)
	if step < 0 {
		span, stride = -span, -stride
	}
	if start == stop || start < stop != (step > 0) {
		return []any{}
	}
	n := (span-1)/stride + 1
	if n > maxRange {
		panic(failure("got %d numbers, want at most %d", n, maxRange))
	}
	f.each(int(n), 32)
	list := make([]any, n)
	for i := range list {
		list[i] = start + i*step
	}
	return list
}

// date writes a time as C's strftime does.
func date(format string, now time.Time) Text {
	layouts := map[byte]string{'d': "02", 'm': "01", 'Y': "2006", 'y': "06", 'b': "Jan", 'B': "January", 'a': "Mon",
		'A': "Monday", 'H': "15", 'M': "04", 'S': "05", 'I': "03", 'p': "PM", '%': "%"}
	var s strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			s.WriteByte(format[i])
			continue
		}
		i++
		layout, ok := layouts[format[i]]
		if !ok {
			panic(failure("unknown mark %%%c", format[i]))
		}
		s.WriteString(now.Format(layout))
	}
	return plain(s.String())
}
