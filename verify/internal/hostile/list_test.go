package hostile

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	root   = "../../.."
	module = "github.com/pedestrian-ml/pedestrian/"
)

// instances gives the type arguments of generic functions and types that are not generic in hand.Number alone.
var instances = map[string]string{
	"train.StateOf": "gpt.Config", "parts.Find": "parts.Norm", "parts.Names": "parts.Norm",
	"hand.Lift": "complex128",
}

// exported holds the names that users of the module can import and, as expressions, what they stand for.
type exported struct {
	packages         []string // folders
	functions, types map[string]string
}

// list reads the exported functions and types in the syntax trees of the module's files.
func list() (exported, error) {
	e := exported{functions: map[string]string{}, types: map[string]string{}}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && private(d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		return e.read(file)
	})
	return e, err
}

// private reports whether no package of a folder can be imported by users, or is only a program.
func private(folder string) bool {
	return strings.HasPrefix(folder, ".") || slices.Contains([]string{"internal", "testdata", "examples"}, folder)
}

// read adds the names that a file declares, if it is compiled on this machine.
func (e *exported) read(file string) error {
	dir := path.Dir(file)
	if matches, err := build.Default.MatchFile(filepath.Join(root, dir), path.Base(file)); err != nil || !matches {
		return err
	}
	syntax, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				e.add(e.functions, dir, d.Name, d.Type.TypeParams)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				s, ok := s.(*ast.TypeSpec)
				if !ok || s.Assign.IsValid() {
					continue
				}
				if _, contract := s.Type.(*ast.InterfaceType); !contract {
					e.add(e.types, dir, s.Name, s.TypeParams)
				}
			}
		}
	}
	return nil
}

// add adds an exported name, instantiated if it is generic.
func (e *exported) add(names map[string]string, dir string, name *ast.Ident, generic *ast.FieldList) {
	if !name.IsExported() {
		return
	}
	full := path.Base(dir) + "." + name.Name
	names[full] = full
	if generic != nil {
		names[full] += "[" + cmp.Or(instances[full], "float64") + "]"
	}
	if !slices.Contains(e.packages, dir) {
		e.packages = append(e.packages, dir)
	}
}

// source returns names_test.go with the names.
func (e *exported) source() string {
	var b strings.Builder
	b.WriteString("package hostile\n\nimport (\n\t\"reflect\"\n\n")
	for _, dir := range e.packages {
		fmt.Fprintf(&b, "\t%q\n", module+dir)
	}
	b.WriteString(")\n\nvar functions = map[string]any{\n")
	for _, name := range slices.Sorted(maps.Keys(e.functions)) {
		fmt.Fprintf(&b, "\t%q: %s,\n", name, e.functions[name])
	}
	b.WriteString("}\n\nvar types = []reflect.Type{\n")
	for _, name := range slices.Sorted(maps.Keys(e.types)) {
		fmt.Fprintf(&b, "\treflect.TypeFor[%s](),\n", e.types[name])
	}
	b.WriteString("}\n")
	return b.String()
}
