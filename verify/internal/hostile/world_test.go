package hostile

import (
	"reflect"
	"strings"
)

// world is a graph to call in, with a valid value of every type, each built when it is first used. Every call has its
// own world; only the files are shared.
type world struct {
	*source
	built map[reflect.Type]reflect.Value
}

// source holds the data from which worlds are built.
type source struct {
	calls  []call
	news   map[reflect.Type]call // the New… functions, by their result
	values table
	own    map[string]func(w *world) []any // arguments
	dir    string                          // with a checkpoint of each kind
}

func newSource() *source {
	s := &source{calls(), map[reflect.Type]call{}, values(), arguments(), ""}
	for _, c := range s.calls {
		_, name, _ := strings.Cut(c.name, ".")
		if t := c.f.Type(); !c.method && strings.HasPrefix(name, "New") && t.NumOut() > 0 {
			s.news[t.Out(0)] = c
		}
	}
	return s
}

func (s *source) world() *world { return &world{s, map[reflect.Type]reflect.Value{}} }

// good returns the valid value of a type: the one in values, the result of a constructor with valid arguments, or, for
// all other types, the zero value, a new one, or a function that returns zero values.
func (w *world) good(t reflect.Type) reflect.Value {
	if v, ok := w.built[t]; ok {
		return v
	}
	w.built[t] = reflect.Zero(t) // for types that need themselves
	v := w.create(t)
	w.built[t] = v
	return v
}

func (w *world) create(t reflect.Type) reflect.Value {
	if make, ok := w.values[t]; ok {
		v := reflect.New(t).Elem()
		v.Set(reflect.ValueOf(make(w)))
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		if c, ok := w.news[t]; ok {
			return c.f.Call(w.args(c))[0]
		}
		p := reflect.New(t.Elem())
		p.Elem().Set(w.good(t.Elem()))
		return p
	case reflect.Func:
		return returning(t, w.good)
	case reflect.Struct:
		if c, ok := w.news[t]; ok {
			return c.f.Call(w.args(c))[0]
		}
		if v := reflect.New(t).Elem(); t.PkgPath() == module+"verify/hand" { // its layers are built as literals only
			for i := range t.NumField() {
				if t.Field(i).IsExported() && t.Field(i).Type != reflect.TypeFor[error]() {
					v.Field(i).Set(w.good(t.Field(i).Type))
				}
			}
			return v
		}
	}
	return reflect.Zero(t)
}

// returning returns a function of type t whose results are given by of, which is called before it: the ranks of
// dist.Run call one function at the same time.
func returning(t reflect.Type, of func(reflect.Type) reflect.Value) reflect.Value {
	var out []reflect.Value
	for i := range t.NumOut() {
		out = append(out, of(t.Out(i)))
	}
	return reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { return out })
}

// args returns the valid arguments of a call, without variadic ones.
func (w *world) args(c call) (args []reflect.Value) {
	if w.own[c.name] != nil {
		return w.chosen(c)
	}
	t := c.f.Type()
	for i := range t.NumIn() {
		in := t.In(i)
		if t.IsVariadic() && i == t.NumIn()-1 {
			break
		}
		args = append(args, w.good(in))
	}
	return args
}

// get returns the valid value of a type.
func get[T any](w *world) T { v, _ := w.good(reflect.TypeFor[T]()).Interface().(T); return v }
