package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// signature is the head of a function in which every parameter has a name, so that it can be passed on.
type signature struct {
	receiver, typeArgs, args  string // "l.", "[T]", "x, shape..."
	before, typeParams, after string // around the name
}

func (s signature) head(name string) string {
	return "func " + s.before + name + s.typeParams + s.after
}

func signatureOf(f *file, d *ast.FuncDecl, at func(token.Pos) int) (s signature) {
	text := func(n ast.Node) string { return f.text[at(n.Pos()):at(n.End())] }
	unnamed := 0
	fields := func(list *ast.FieldList) (decls, names []string) {
		for _, field := range list.List {
			ids := field.Names
			if len(ids) == 0 {
				ids = []*ast.Ident{{Name: "_"}}
			}
			for _, id := range ids {
				name := id.Name
				if name == "_" {
					name = fmt.Sprintf("mutantArg%d", unnamed)
					unnamed++
				}
				decls = append(decls, name+" "+text(field.Type))
				if _, variadic := field.Type.(*ast.Ellipsis); variadic {
					name += "..."
				}
				names = append(names, name)
			}
		}
		return decls, names
	}
	if d.Recv != nil {
		decls, names := fields(d.Recv)
		s.before, s.receiver = "("+decls[0]+") ", names[0]+"."
	}
	if list := d.Type.TypeParams; list != nil {
		var names []string
		for _, field := range list.List {
			for _, id := range field.Names {
				names = append(names, id.Name)
			}
		}
		s.typeParams, s.typeArgs = text(list), "["+strings.Join(names, ", ")+"]"
	}
	decls, names := fields(d.Type.Params)
	s.args, s.after = strings.Join(names, ", "), "("+strings.Join(decls, ", ")+") "
	if d.Type.Results != nil {
		s.after += text(d.Type.Results) + " "
	}
	return s
}
