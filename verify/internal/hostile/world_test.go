package hostile

import (
	"reflect"
	"strings"
)

// world is a graph to call in, with a well-made value of every type, each made when it is asked for. Every call has its
// own, but for the files.
type world struct {
	*source
	made map[reflect.Type]reflect.Value
}

// source is what worlds are made from.
type source struct {
	calls  []call
	news   map[reflect.Type]call // the New… functions, by what they return
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

// good returns the well-made value of a type: what values makes, what a constructor of the packages makes of well-made
// arguments, or, of all other types, the zero value, a new one, or a function that returns zero values.
func (w *world) good(t reflect.Type) reflect.Value {
	if v, ok := w.made[t]; ok {
		return v
	}
	w.made[t] = reflect.Zero(t) // for what needs itself
	v := w.create(t)
	w.made[t] = v
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
		return returning(t, func(t reflect.Type) reflect.Value { return w.good(t) })
	case reflect.Struct:
		if c, ok := w.news[t]; ok {
			return c.f.Call(w.args(c))[0]
		}
		if v := reflect.New(t).Elem(); t.PkgPath() == module+"verify/hand" { // its literals are all that its layers are made of
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

// returning returns a function of type t whose results are what of says.
func returning(t reflect.Type, of func(reflect.Type) reflect.Value) reflect.Value {
	return reflect.MakeFunc(t, func([]reflect.Value) (out []reflect.Value) {
		for i := range t.NumOut() {
			out = append(out, of(t.Out(i)))
		}
		return out
	})
}

// args returns the well-made arguments of a call, without those of which there may be any number.
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

// get returns the well-made value of a type.
func get[T any](w *world) T { v, _ := w.good(reflect.TypeFor[T]()).Interface().(T); return v }
