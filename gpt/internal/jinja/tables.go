package jinja

import (
	"strings"

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
	do     func(f *frame, v any, a args) (any, error)
}

// args holds the arguments of a row.
type args struct {
	at    []any // for each parameter; undefined if none is given
	more  []any
	named *Object
}

// apply calls a row of that name with a value.
func (r row) apply(f *frame, name string, v any, list []argument) (any, error) {
	a, err := r.bind(list)
	if err == nil {
		v, err = r.do(f, v, a)
	}
	return v, errors.WithMessage(err, name)
}

// function returns a row that is called as a function, or as a method of v.
func (r row) function(name string, v any) function {
	return func(f *frame, list []argument) (any, error) { return r.apply(f, name, v, list) }
}

// bind gives each parameter its argument.
func (r row) bind(list []argument) (args, error) {
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
			for i = 0; i < len(params) && params[i] != arg.name; i++ {
			}
		} else {
			n++
		}
		switch {
		case i < len(params) && !a.given(i):
			a.at[i] = arg.value
		case i >= len(params) && arg.name == "" && many:
			a.more = append(a.more, arg.value)
		case i >= len(params) && arg.name != "" && named:
			a.named.Set(plain(arg.name), arg.value)
		case arg.name != "":
			return a, errors.Errorf("got an argument %.32s, want %s", arg.name, r.wanted())
		default:
			return a, errors.Errorf("got %d arguments, want %s", n, r.wanted())
		}
	}
	return a, nil
}

func (r row) wanted() string {
	if r.params == "" {
		return "none"
	}
	return strings.Join(strings.Fields(r.params), ", ")
}

func (a args) given(i int) bool {
	_, missing := a.at[i].(undefined)
	return !missing
}

func (a args) truth(i int) bool { return truth(a.at[i]) }

// text returns an argument that is a text, or otherwise if it is not given or none.
func (a args) text(i int, otherwise string) (Text, error) {
	if t, ok := a.at[i].(Text); ok {
		return t, nil
	}
	if a.given(i) && a.at[i] != nil {
		return Text{}, errors.Errorf("got %s, want a text", typeOf(a.at[i]))
	}
	return plain(otherwise), nil
}

// wantText returns an argument that is a text.
func (a args) wantText(i int) (Text, error) {
	t, ok := a.at[i].(Text)
	if !ok {
		return t, errors.Errorf("got %s, want a text", typeOf(a.at[i]))
	}
	return t, nil
}

// whole returns an argument that is a whole number, or otherwise if it is not given.
func (a args) whole(i, otherwise int) (int, error) {
	if n, ok := wholeOf(a.at[i]); ok || !a.given(i) {
		if !ok {
			n = otherwise
		}
		return n, nil
	}
	return 0, errors.Errorf("got %s, want a whole number", typeOf(a.at[i]))
}

// functions returns the functions that a template can call.
func functions() map[string]row {
	return map[string]row{
		"range": {"start stop step", numbers},
		"dict":  {"from **", func(f *frame, _ any, a args) (any, error) { return f.dict(a) }},
		"namespace": {"from **", func(f *frame, _ any, a args) (any, error) {
			o, err := f.dict(a)
			return namespace{o}, err
		}},
		"raise_exception": {"message", func(_ *frame, _ any, a args) (any, error) {
			t, _ := a.text(0, "")
			return nil, errors.Errorf("the template refuses this: %.400s", t.S)
		}},
		"strftime_now": {"format", strftimeNow},
	}
}

// dict returns a copy of an object with other names set.
func (f *frame) dict(a args) (*Object, error) {
	o := &Object{}
	for _, from := range []any{a.at[0], a.named} {
		switch from := from.(type) {
		case undefined:
		case *Object:
			for i, key := range from.keys {
				if err := f.put(o, key, from.values[i]); err != nil {
					return nil, err
				}
			}
		default:
			return nil, errors.Errorf("got %s, want an object", typeOf(from))
		}
	}
	return o, nil
}
