package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// silent reports whether nothing below the node is changed. That holds for a type, for the declaration of a constant or
// a type, and for the capacity in a make, which only affects speed. It holds for text for people: the arguments of
// panic and of a call that takes a format or a list of any, a string that becomes an error, and the methods String,
// GoString and Error. It also holds for a constant that is returned with an error, which no caller may use, and for
// elements and parts of slices that are assigned to blanks, which checks bounds before assembly reads.
func (c cursor) silent() bool {
	switch n := c.node.(type) {
	case *ast.GenDecl:
		return n.Tok != token.VAR
	case *ast.FuncType:
		return true
	case *ast.AssignStmt:
		return blank(n) && !slices.ContainsFunc(n.Rhs, func(e ast.Expr) bool {
			switch e.(type) {
			case *ast.IndexExpr, *ast.SliceExpr:
				return false
			}
			return true
		})
	case ast.Expr:
		if c.source.info.Types[n].IsType() {
			return true
		}
	}
	if d := c.decl; d.Recv != nil && (d.Name.Name == "String" || d.Name.Name == "GoString" || d.Name.Name == "Error") {
		return true
	}
	if r, ok := c.parent().(*ast.ReturnStmt); ok && len(r.Results) > 1 {
		last := c.source.info.Types[r.Results[len(r.Results)-1]]
		e, ok := c.node.(ast.Expr)
		return ok && !last.IsNil() && last.Type != nil && isError(last.Type) && c.isConstant(e)
	}
	call, ok := c.parent().(*ast.CallExpr)
	if !ok || c.node == call.Fun {
		return false
	}
	fun := c.source.info.Types[call.Fun]
	if id, ok := call.Fun.(*ast.Ident); ok && fun.IsBuiltin() {
		n := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return e == c.node })
		_, slice := c.typeOf(call).(*types.Slice)
		return id.Name == "panic" || id.Name == "make" && (n == 2 || n == 1 && !slice)
	}
	sig, ok := fun.Type.(*types.Signature)
	if !ok || sig.Params().Len() == 0 {
		return false
	}
	last := sig.Params().At(sig.Params().Len() - 1).Type()
	if sig.Variadic() {
		of := last.(*types.Slice).Elem()
		_, isInterface := of.Underlying().(*types.Interface)
		return isInterface && types.NewMethodSet(of).Len() == 0 && !isTypeParam(of)
	}
	results := sig.Results()
	return sig.Params().Len() == 1 && isBasic(last, types.IsString) &&
		results.Len() == 1 && isError(results.At(0).Type())
}
