package hostile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pedestrian-ml/pedestrian/nn"
)

// nnDir is the folder of nn. Tests change the working directory.
var nnDir, _ = filepath.Abs("../../../nn")

// fieldsRead returns, for every function and method of nn, such as nn.NewBlock and nn.Site.Param, the fields of structs
// of nn that it reads, itself or by functions of nn that it calls. The keys are the names of the fields and of their
// types, and argument for each argument that it reads.
var fieldsRead = sync.OnceValue(func() map[string]map[string]bool {
	fset, files := token.NewFileSet(), []*ast.File(nil)
	names, _ := filepath.Glob(filepath.Join(nnDir, "*.go"))
	for _, name := range names {
		if f, err := parser.ParseFile(fset, name, nil, 0); err == nil && !strings.HasSuffix(name, "_test.go") {
			files = append(files, f)
		}
	}
	info := gotypes.Info{
		Uses: map[*ast.Ident]gotypes.Object{}, Defs: map[*ast.Ident]gotypes.Object{},
		Selections: map[*ast.SelectorExpr]*gotypes.Selection{},
	}
	conf := gotypes.Config{Importer: empty{}, Error: func(error) {}} // names of other packages have no type
	conf.Check("nn", fset, files, &info)
	reads, calls := map[gotypes.Object]map[string]bool{}, map[gotypes.Object][]gotypes.Object{}
	for _, f := range files {
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			function, written := info.Defs[d.Name], map[ast.Expr]bool{}
			reads[function] = map[string]bool{}
			arguments := argumentsOf(function)
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					for _, x := range n.Lhs {
						written[x] = n.Tok == token.ASSIGN
					}
				case *ast.SelectorExpr:
					if s := info.Selections[n]; s != nil && s.Kind() == gotypes.FieldVal && !written[n] {
						reads[function][n.Sel.Name], reads[function][structName(s.Recv())] = true, true
					}
				case *ast.Ident:
					switch used := info.Uses[n].(type) {
					case *gotypes.Func:
						calls[function] = append(calls[function], used)
					case *gotypes.Var:
						if i := slices.Index(arguments, used); i >= 0 {
							reads[function][argument(callName(function), i)] = true
						}
					}
				}
				return true
			})
		}
	}
	for before := -1; before != total(reads); { // until the calls add nothing
		before = total(reads)
		for function, list := range calls {
			for _, called := range list {
				maps.Copy(reads[function], reads[called])
			}
		}
	}
	list := map[string]map[string]bool{}
	for function, fields := range reads {
		list[callName(function)] = fields
	}
	return list
})

// callName returns the name of a function of nn, such as nn.NewBlock or nn.Block.Forward.
func callName(function gotypes.Object) string {
	if recv := function.Type().(*gotypes.Signature).Recv(); recv != nil {
		return "nn." + structName(recv.Type()) + "." + function.Name()
	}
	return "nn." + function.Name()
}

// argumentsOf returns the receiver and the parameters of a function.
func argumentsOf(function gotypes.Object) (list []*gotypes.Var) {
	sig := function.Type().(*gotypes.Signature)
	if sig.Recv() != nil {
		list = append(list, sig.Recv())
	}
	return slices.AppendSeq(list, sig.Params().Variables())
}

// argument returns the name of an argument of a function.
func argument(function string, i int) string { return fmt.Sprint(function, " ", i) }

func total(sets map[gotypes.Object]map[string]bool) (n int) {
	for _, set := range sets {
		n += len(set)
	}
	return n
}

// structName returns the name of a type, or of what it points to.
func structName(t gotypes.Type) string {
	if p, ok := t.(*gotypes.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := gotypes.Unalias(t).(*gotypes.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// empty imports packages without names.
type empty struct{}

// Import implements the Importer of go/types.
func (empty) Import(name string) (*gotypes.Package, error) {
	p := gotypes.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// read reports whether a function of nn reads argument i and, in a struct of nn, what a wrong value such as
// .Style.Eps=-1 sets. Whether a layer may ignore what it does not read is for TestSettingsOfHeads.
func read(function string, i int, t reflect.Type, how string) bool {
	fields := fieldsRead()[function]
	if fields != nil && !fields[argument(function, i)] {
		return false
	}
	if fields == nil || t.Kind() != reflect.Struct || t.PkgPath() != module+"nn" {
		return true
	}
	field, _, _ := strings.Cut(how, "=")
	if field == "" || field == ".Scope" {
		return fields[t.Name()]
	}
	names := strings.Split(field, ".")[1:]
	if f, _ := t.FieldByName(names[0]); f.Anonymous && len(names) > 1 {
		names = names[1:]
	}
	name, _, _ := strings.Cut(names[0], "[")
	return fields[name]
}

// A constructor reads what it uses and what those that it calls use, and no setting of other layers.
func TestFieldsRead(t *testing.T) {
	site := reflect.TypeFor[nn.Site]()
	for _, c := range []struct {
		function, how string
		want          bool
	}{
		{"nn.NewGroupedAttention", ".Attending.Cap=-1", true}, {"nn.NewMLP", ".Attending.Cap=-1", false},
		{"nn.NewMLP", ".Sublayers.Act=nil", true}, {"nn.NewGroupedAttention", ".Sublayers.Act=nil", false},
		{"nn.NewMLP", ".Dims.Inner=0", true}, {"nn.NewDropout", ".Dims.Inner=0", false}, {"nn.NewMLP", "={}", true},
		{"nn.NewMLP", ".Style={}", false}, {"graph.New", ".Cap=0", true},
	} {
		if got := read(c.function, 0, site, c.how); got != c.want {
			t.Errorf("%s reads %s: got %t", c.function, c.how, got)
		}
	}
}
