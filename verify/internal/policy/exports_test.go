package policy

import (
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// checker type-checks the packages of the module. Packages of other modules are empty: expressions that need them have
// no type, which hides no use of a name of this module.
type checker struct {
	folders map[string][]sourceFile // by folder
	known   map[string]*types.Package
	used    map[types.Object]bool // by another package, or by an Example

	interfaces map[string]bool // the names of the methods of interfaces: values with them are used by these
}

// Import implements types.Importer.
func (c checker) Import(name string) (*types.Package, error) {
	if pkg := c.known[name]; pkg != nil {
		return pkg, nil
	}
	folder, ours := strings.CutPrefix(name, module)
	if !ours {
		pkg := types.NewPackage(name, path.Base(name))
		pkg.MarkComplete()
		c.known[name] = pkg
		return pkg, nil
	}
	pkg := c.check(name, folder, func(f sourceFile) bool { return !f.test }, func(ast.Node) bool { return true })
	c.known[name] = pkg
	return pkg, nil
}

// check type-checks some files of a folder and marks the names of other packages that some nodes of them use.
func (c checker) check(name, folder string, in func(sourceFile) bool, counts func(ast.Node) bool) *types.Package {
	var files []*ast.File
	for _, f := range c.folders[folder] {
		if in(f) {
			files = append(files, f.syntax)
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: c, FakeImportC: true, Error: func(error) {}}
	pkg, _ := conf.Check(name, positions, files, &info)
	for _, f := range files {
		for _, d := range f.Decls {
			if !counts(d) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					if o := info.Uses[id]; o != nil && o.Pkg() != nil && o.Pkg() != pkg {
						c.used[origin(o)] = true
					}
				}
				return true
			})
		}
	}
	return pkg
}

// origin returns the declared object of an instance of a generic type.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Func:
		return o.Origin()
	case *types.Var:
		return o.Origin()
	}
	return o
}

// spread marks the types in the declarations of names that are used, until there are no more: whoever calls a
// constructor uses the type that it returns.
func (c checker) spread() {
	todo := slices.Collect(maps.Keys(c.used))
	for len(todo) > 0 {
		o := todo[0]
		todo = todo[1:]
		mark := func(o types.Object) {
			if o.Exported() && !c.used[o] {
				c.used[o] = true
				todo = append(todo, o)
			}
		}
		if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil &&
			types.IsInterface(f.Signature().Recv().Type()) {
			c.interfaces[f.Name()] = true
		}
		mentioned(o.Type(), mark)
		if _, ok := o.(*types.TypeName); ok {
			mentioned(o.Type().Underlying(), mark)
		}
	}
}

// mentioned calls mark with the named types, and the methods of interfaces, that t is written with.
func mentioned(t types.Type, mark func(types.Object)) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		mark(t.Origin().Obj())
		for a := range t.TypeArgs().Types() {
			mentioned(a, mark)
		}
	case *types.Pointer:
		mentioned(t.Elem(), mark)
	case *types.Slice:
		mentioned(t.Elem(), mark)
	case *types.Array:
		mentioned(t.Elem(), mark)
	case *types.Map:
		mentioned(t.Key(), mark)
		mentioned(t.Elem(), mark)
	case *types.Signature:
		for v := range t.Params().Variables() {
			mentioned(v.Type(), mark)
		}
		for v := range t.Results().Variables() {
			mentioned(v.Type(), mark)
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			mark(m)
		}
	}
}

// mostUnused is the number of exported names that nothing uses. It may only become smaller.
const mostUnused = 150

// unused lists the exported names of a package that nothing uses. It leaves out the fields of layers, in nn and
// verify/hand: these are the parameters, for whoever reads or replaces them.
func (c checker) unused(folder string, pkg *types.Package) (list []string) {
	add := func(o types.Object, name string) {
		if o.Exported() && !c.used[o] {
			list = append(list, name)
		}
	}
	for _, name := range pkg.Scope().Names() {
		o := pkg.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		add(o, name)
		named, ok := o.Type().(*types.Named)
		if _, isType := o.(*types.TypeName); !isType || !ok {
			continue
		}
		for m := range named.Methods() {
			if !c.interfaces[m.Name()] {
				add(m, name+"."+m.Name())
			}
		}
		if s, ok := named.Underlying().(*types.Struct); ok && folder != "nn" && folder != "verify/hand" {
			for i := range s.NumFields() {
				if f := s.Field(i); !f.Embedded() && s.Tag(i) == "" {
					add(f, name+"."+f.Name())
				}
			}
		}
	}
	return list
}

// excused reads testdata/unused.txt: a folder, a pattern of names and the reason why nothing has to use them.
func excused(t *testing.T) (list [][3]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/unused.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(words) < 3 {
			t.Fatalf("testdata/unused.txt: got %q, want a folder, a name and a reason", line)
		}
		list = append(list, [3]string(words))
	}
	return list
}

// TestExportedNamesHaveUsers checks that another package or an Example uses each exported name, unless
// testdata/unused.txt lists it with a reason.
func TestExportedNamesHaveUsers(t *testing.T) {
	c := checker{map[string][]sourceFile{}, map[string]*types.Package{}, map[types.Object]bool{}, map[string]bool{}}
	for _, name := range strings.Fields("Error String Unwrap Is Set Close Read Write Len MarshalJSON UnmarshalJSON") {
		c.interfaces[name] = true
	}
	for _, f := range sources(t) {
		c.folders[f.dir] = append(c.folders[f.dir], f)
	}
	for folder := range c.folders {
		if folder != "." {
			c.Import(module + folder)
		}
	}
	for folder := range c.folders {
		c.check(folder+"_test", folder, func(f sourceFile) bool {
			return f.test && strings.HasSuffix(f.syntax.Name.Name, "_test")
		}, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncDecl)
			return !ok || strings.HasPrefix(fn.Name.Name, "Example")
		})
	}
	c.spread()
	exceptions := excused(t)
	matched, number := make([]bool, len(exceptions)), 0
	for name, pkg := range c.known {
		folder, ours := strings.CutPrefix(name, module)
		if !ours || strings.HasPrefix(folder, "examples") || strings.Contains("/"+folder+"/", "/internal/") {
			continue
		}
		for _, name := range c.unused(folder, pkg) {
			i := slices.IndexFunc(exceptions, func(e [3]string) bool {
				ok, err := path.Match(e[1], name)
				return ok && err == nil && e[0] == folder
			})
			if i < 0 {
				t.Errorf(
					"%s.%s: no other package and no Example uses it: unexport it, remove it, or list it with a reason",
					folder, name,
				)
				continue
			}
			matched[i] = true
			number++
		}
	}
	for i, e := range exceptions {
		if !matched[i] {
			t.Errorf("testdata/unused.txt: %s %s matches no unused name: remove the line", e[0], e[1])
		}
	}
	if number > mostUnused {
		t.Errorf("got %d exported names without a user, want at most %d", number, mostUnused)
	}
}
