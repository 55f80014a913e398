package index

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/equation"
	"github.com/pkg/errors"
)

// formulas returns the formulas by hand, by name.
func formulas(module fs.FS) (list []equation.Formula, err error) {
	files := token.NewFileSet()
	const pattern = "verify/hand/*.go"
	parsed, err := parse(files, module, pattern)
	if err != nil {
		return nil, err
	}
	parsed = slices.DeleteFunc(parsed, func(f *ast.File) bool {
		return strings.HasSuffix(files.Position(f.Pos()).Filename, "_test.go")
	})
	known := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	checker := types.Config{Importer: nothing{}, Error: func(error) {}}
	checker.Check("hand", files, parsed, known) // knows nothing of imports, which call nothing back
	calls := map[string][]string{}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := nameOf(known.Defs[f.Name].(*types.Func))
			calls[name] = called(f, known)
			if at := place(files, f.Pos()); isFormula(name, at.File) {
				source, err := sourceOf(module, files, f)
				if err != nil {
					return nil, err
				}
				list = append(list, equation.Formula{Name: name, Place: at, Source: source})
			}
		}
	}
	slices.SortFunc(list, func(a, b equation.Formula) int { return strings.Compare(a.Name, b.Name) })
	isOne := func(name string) bool {
		return slices.ContainsFunc(list, func(f equation.Formula) bool { return f.Name == name })
	}
	for i := range list {
		list[i].Calls = through(calls, list[i].Name, isOne)
	}
	return list, nil
}

// sourceOf returns the source of a function, with its comment.
func sourceOf(module fs.FS, files *token.FileSet, f *ast.FuncDecl) (string, error) {
	from, to := files.Position(f.Pos()), files.Position(f.End())
	if f.Doc != nil {
		from = files.Position(f.Doc.Pos())
	}
	data, err := fs.ReadFile(module, from.Filename)
	if err != nil || to.Offset > len(data) {
		return "", errors.Wrapf(err, "source of %s", f.Name.Name)
	}
	return string(data[from.Offset:to.Offset]), nil
}

// isFormula reports whether a function is a formula: exported, and not of matrices, of lists of gradients or of the
// files that all formulas share.
func isFormula(name, file string) bool {
	shared := []string{"arithmetic.go", "function.go", "layer.go", "matrix.go", "site.go"}
	of, method, _ := strings.Cut(name, ".")
	return ast.IsExported(of) && (method == "" || ast.IsExported(method)) && of != "Matrix" && of != "Gradients" &&
		of != "Site" && !slices.Contains(shared, path.Base(file))
}

// called returns the functions of verify/hand in the source of one of them, except for operations of matrices.
func called(f *ast.FuncDecl, known *types.Info) (list []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if g, ok := known.Uses[id].(*types.Func); ok && g.Pkg() != nil && g.Pkg().Name() == "hand" {
				if name := nameOf(g); !strings.HasPrefix(name, "Matrix.") {
					list = append(list, name)
				}
			}
		}
		return true
	})
	return list
}

// through returns the formulas and the methods of interfaces that a function calls, directly or through others.
func through(calls map[string][]string, from string, isOne func(string) bool) (list []string) {
	seen := map[string]bool{from: true}
	var visit func(name string)
	visit = func(name string) {
		for _, to := range calls[name] {
			if seen[to] {
				continue
			}
			seen[to] = true
			if _, has := calls[to]; !has || isOne(to) {
				list = append(list, to)
				continue
			}
			visit(to)
		}
	}
	visit(from)
	slices.Sort(list)
	return list
}

// nameOf returns the name of a function, or of a method with its type.
func nameOf(f *types.Func) string {
	receiver := f.Signature().Recv()
	if receiver == nil {
		return f.Name()
	}
	t := types.TypeString(receiver.Type(), func(*types.Package) string { return "" })
	t, _, _ = strings.Cut(strings.TrimPrefix(t, "*"), "[")
	return t + "." + f.Name()
}

// nothing imports no package.
type nothing struct{}

func (nothing) Import(path string) (*types.Package, error) {
	return nil, errors.New("index: " + path + " is not read")
}

// parse returns the sources of a pattern.
func parse(files *token.FileSet, module fs.FS, pattern string) (list []*ast.File, err error) {
	paths, err := fs.Glob(module, pattern)
	if err == nil && len(paths) == 0 {
		err = errors.Errorf("no file %s", pattern)
	}
	for _, name := range paths {
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return nil, errors.Wrap(err, "index")
		}
		file, err := parser.ParseFile(files, name, text, parser.ParseComments)
		if err != nil {
			return nil, errors.Wrap(err, "index")
		}
		list = append(list, file)
	}
	return list, errors.Wrap(err, "index")
}

// place returns a position in a source that parse read.
func place(files *token.FileSet, at token.Pos) equation.Place {
	p := files.Position(at)
	return equation.Place{File: p.Filename, Line: p.Line}
}
