package trainer

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// cut says what the page does without in a package. The linker keeps much of it although nothing calls it: a template,
// or a type that embeds reflect.Type, can call any method by its name, and a list of parts refers to all of them.
type cut struct {
	files     []string          // left out
	functions []string          // left out: "file function"
	emptied   []string          // panic if they are called: "file function", or "file *" for all functions of the file
	variables []string          // left out: "file variable"
	types     bool              // the cases of types that no model has are left out of every switch
	added     map[string]string // further files by name
}

// cuts returns what the page does without, by package: pictures of graphs, the formats of other programs, numbers of
// types that no model has, and the parts of models that the page does not offer. What is cut cannot change a number: it
// panics or returns an error.
func cuts() map[string]cut {
	return map[string]cut{
		"gorgonia.org/gorgonia": {
			files:     []string{"templates.go"},
			functions: []string{"node.go dot", "node.go dotString"},
			emptied:   []string{"node.go ToDot", "graph.go ToDot"},
			types:     true,
		},
		"gorgonia.org/tensor": {
			functions: slices.Concat(
				in("dense_io.go", "FBEncode FBDecode PBEncode PBDecode"),
				in("dense_compat.go", "FromArrowArray FromArrowTensor FromMat64 ToMat64"),
				in("tensor.go", "init"), // which registers types for encoding/gob
			),
			emptied: slices.Concat(
				in("dense_io.go", "ReadNpy WriteNpy ReadCSV WriteCSV GobEncode GobDecode"),
				in("sparse_io.go", "GobEncode GobDecode"), in("defaultengine_linalg.go", "SVD"),
			),
			variables: in("dense_io.go", "npyDescRE rowOrderRE shapeRE"),
			types:     true,
			added:     map[string]string{"dtype_methods.go": dtypeMethods},
		},
		"gorgonia.org/tensor/internal/execution": {types: true},
		"gorgonia.org/tensor/internal/storage":   {types: true},
		"gonum.org/v1/gonum/blas/gonum": {emptied: []string{
			"level1cmplx64.go *", "level2cmplx64.go *", "level3cmplx64.go *",
			"level1cmplx128.go *", "level2cmplx128.go *", "level3cmplx128.go *",
		}},
		module + "/graph/internal/kernel/experts": {emptied: slices.Concat([]string{
			"backward.go *", "balance.go *", "router.go *", "routes.go *", "rows.go *",
		}, in("experts.go", "Forward mul multiply"))},
		module + "/graph/optim": {emptied: []string{"soap.go soap", "muon.go muon"}},
		module + "/nn": {emptied: slices.Concat([]string{
			"hyper_connections.go *", "smear.go *", "elman.go *", "xsa.go Forward",
		}, in("moe.go", "newMoE Forward mixture each probabilities"))},
		module + "/verify/hand": {emptied: slices.Concat([]string{
			"hyper_connections.go *", "smear.go *", "elman.go *", "xsa.go *", "cross_attention.go *",
		}, in("moe.go", "Forward Backward back parts chosen probabilities"))},
	}
}

// in returns names of a file with the name of the file before each.
func in(file, names string) (list []string) {
	for name := range strings.FieldsSeq(names) {
		list = append(list, file+" "+name)
	}
	return list
}

// unusedTypes returns the names of the types that no model has, in package tensor and in package reflect.
func unusedTypes() []string {
	return strings.Fields("Int8 Int16 Int32 Int64 Uint Uint8 Uint16 Uint32 Uint64 Complex64 Complex128 String " +
		"UnsafePointer Uintptr")
}

// dtypeMethods replaces the methods that tensor.Dtype has from reflect.Type, and by which the linker keeps every
// exported method of every type.
const dtypeMethods = `package tensor

import (
	"iter"
	"reflect"
)

func (Dtype) Method(int) reflect.Method                  { panic("cut: a method by its number") }
func (Dtype) MethodByName(string) (reflect.Method, bool) { panic("cut: a method by its name") }
func (Dtype) Methods() iter.Seq[reflect.Method]          { panic("cut: all methods") }
`

// file returns a source without what is cut, or nil for a file that is left out. A source without a cut stays the same.
func (c cut) file(name string, source []byte) ([]byte, error) {
	if slices.Contains(c.files, name) {
		return nil, nil
	}
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	n := c.declarations(name, f) + c.cases(f)
	if n == 0 {
		return source, nil
	}
	f.Comments = nil // they would move
	unimport(f)
	var b bytes.Buffer
	for line := range strings.Lines(string(source)) {
		if strings.HasPrefix(line, "//go:build") {
			b.WriteString(line + "\n")
		}
	}
	err = format.Node(&b, set, f)
	return b.Bytes(), err
}

// declarations cuts functions and variables, and returns the number of cuts.
func (c cut) declarations(name string, f *ast.File) (n int) {
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc = nil; slices.Contains(c.functions, name+" "+d.Name.Name) {
				n++
				return true
			}
			entire := slices.Contains(c.emptied, name+" *")
			if entire || slices.Contains(c.emptied, name+" "+d.Name.Name) {
				n++
				text := &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote("cut: " + d.Name.Name)}
				call := &ast.CallExpr{Fun: ast.NewIdent("panic"), Args: []ast.Expr{text}}
				d.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: call}}}
			}
		case *ast.GenDecl:
			before := len(d.Specs)
			d.Specs = slices.DeleteFunc(d.Specs, func(s ast.Spec) bool {
				v, ok := s.(*ast.ValueSpec)
				return ok && slices.Contains(c.variables, name+" "+v.Names[0].Name)
			})
			n += before - len(d.Specs)
			return len(d.Specs) == 0
		}
		return false
	})
	return n
}

// cases leaves out the cases of switches that list the types alone, and returns their number.
func (c cut) cases(f *ast.File) (n int) {
	if !c.types {
		return 0
	}
	unused := unusedTypes()
	typed := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return slices.Contains(unused, e.Name)
		case *ast.SelectorExpr:
			return slices.Contains(unused, e.Sel.Name)
		}
		return false
	}
	ast.Inspect(f, func(x ast.Node) bool {
		s, ok := x.(*ast.SwitchStmt)
		if !ok {
			return true
		}
		before := len(s.Body.List)
		s.Body.List = slices.DeleteFunc(s.Body.List, func(x ast.Stmt) bool {
			list := x.(*ast.CaseClause).List
			return len(list) > 0 && !slices.ContainsFunc(list, func(e ast.Expr) bool { return !typed(e) })
		})
		n += before - len(s.Body.List)
		return true
	})
	return n
}

// unimport leaves out the imports that a file no longer needs.
func unimport(f *ast.File) {
	used := map[string]bool{}
	ast.Inspect(f, func(x ast.Node) bool {
		if s, ok := x.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
				i := s.(*ast.ImportSpec)
				name := path.Base(strings.Trim(i.Path.Value, `"`))
				if i.Name != nil {
					name = i.Name.Name
				}
				return name != "_" && name != "." && !used[name]
			})
		}
	}
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.IMPORT && len(g.Specs) == 0
	})
}
