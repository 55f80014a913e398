package hostile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// packages are what is called, with their folders.
var packages = map[string]string{"graph": "graph", "optim": "graph/optim", "nn": "nn"}

// TestEverythingIsListed: what a package exports is on a list, or it is said why not.
func TestEverythingIsListed(t *testing.T) {
	for name, dir := range packages {
		files, err := filepath.Glob("../../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range syntax.Decls {
				for _, id := range declared(d) {
					full := name + "." + id
					if functions[full] == nil && types[full] == nil && uncalled[full] == "" && ast.IsExported(id) {
						t.Errorf("%s is on no list of this package", full)
					}
				}
			}
		}
	}
}

// declared are the functions and types, but interfaces and other names of types, that a declaration makes.
func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok && !s.Assign.IsValid() {
				if _, is := s.Type.(*ast.InterfaceType); !is {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}

// TestNothingPanics: each function and method with right values, with one of them wrong, and with several. What it
// returns is compiled and run, and may be an error.
func TestNothingPanics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	calls := 0
	made := map[reflect.Type]func(w *world) reflect.Value{} // by constructors, from right values
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f := reflect.ValueOf(functions[name])
		if t := f.Type(); t.NumOut() > 0 && t.Out(0).Kind() == reflect.Pointer && t.Out(0) != reflect.TypeFor[*graph.Graph]() {
			made[t.Out(0)] = func(w *world) reflect.Value { return f.Call(pick(w, t, nil, 0))[0] }
		}
		calls += try(t, name, f.Type(), rng, func(*world) (reflect.Value, bool) { return f, true })
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		pointer := reflect.TypeOf(types[name])
		for i := range pointer.NumMethod() {
			method := pointer.Method(i)
			for which := range 4 {
				calls += try(t, name+"."+method.Name, method.Type, rng, func(w *world) (reflect.Value, bool) {
					receiver, ok := receiver(w, pointer, made[pointer], which)
					if !ok {
						return receiver, false
					}
					return receiver.Method(i), true
				})
			}
		}
	}
	t.Logf("%d calls", calls)
	if calls < 1000 {
		t.Errorf("%d calls: fewer than there were", calls)
	}
}

// receiver is the zero value, what a constructor makes, or one of the world's values.
func receiver(w *world, pointer reflect.Type, made func(*world) reflect.Value, which int) (r reflect.Value, ok bool) {
	defer func() { ok = recover() == nil && ok }() // a constructor's panic is noticed where it is called itself
	switch of := w.values[pointer.Elem()]; {
	case which == 0:
		return reflect.New(pointer.Elem()), true
	case which == 1 && made != nil:
		r = made(w)
		return r, !r.IsNil()
	case len(w.values[pointer]) >= which && which > 1:
		return w.values[pointer][which-1], !w.values[pointer][which-1].IsNil()
	case len(of) >= which:
		r = reflect.New(pointer.Elem())
		r.Elem().Set(of[which-1])
		return r, true
	}
	return r, false
}

// pick chooses the arguments of a function: right ones, but for the wrong ones, which is none, one, or any.
func pick(w *world, f reflect.Type, rng *rand.Rand, trial int) (args []reflect.Value) {
	n := f.NumIn()
	for i := range n {
		in := f.In(i)
		if f.IsVariadic() && i == n-1 {
			in = in.Elem()
		}
		list := w.of(in)
		v := list[0]
		if rng != nil && trial > 0 && (rng.IntN(n) == 0 || trial%4 == 0) {
			v = list[rng.IntN(len(list))]
		}
		args = append(args, v)
	}
	return args
}

// try calls a function of a new world in every way.
func try(t *testing.T, name string, of reflect.Type, rng *rand.Rand, get func(*world) (reflect.Value, bool)) (calls int) {
	trials := 4
	if testing.Short() {
		trials = 2
	}
	for trial := range trials {
		w := newWorld(trial%2 == 0)
		f, ok := get(w)
		if !ok {
			return calls
		}
		calls++
		args := pick(w, f.Type(), rng, trial)
		func() {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("%s(%s): panic: %v", name, describe(args), r)
				}
			}()
			for _, out := range f.Call(args) {
				if y, ok := out.Interface().(graph.Expr); ok {
					if p, err := graph.Compile(y); err == nil {
						p.Run()
					}
				}
			}
		}()
	}
	return calls
}

func describe(args []reflect.Value) string {
	var list []string
	for _, a := range args {
		s := fmt.Sprintf("%v", a.Type())
		if a.Kind() < reflect.Array || a.Kind() == reflect.String {
			s = fmt.Sprintf("%v", a)
		}
		list = append(list, s)
	}
	return strings.Join(list, ", ")
}
