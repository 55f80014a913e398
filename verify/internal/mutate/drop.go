package main

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// dropCall replaces a call by the receiver of the method or the only argument of the function, if it has the type of
// the result: x.f(y) → x. It skips functions from error to error, which only add text for people.
func dropCall(c cursor) []change {
	call, ok := c.node.(*ast.CallExpr)
	if !ok || c.isStatement() || c.source.info.Types[call.Fun].IsType() {
		return nil
	}
	result := c.source.info.Types[call].Type
	if s, ok := call.Fun.(*ast.SelectorExpr); ok && c.same(s.X, result) {
		return c.instead("drop-call", c.text(s.X))
	}
	if len(call.Args) == 1 && c.same(call.Args[0], result) && !isError(result) {
		return c.instead("drop-call", c.text(call.Args[0]))
	}
	return nil
}

// isStatement reports whether the node is the call of a statement, or of defer or go.
func (c cursor) isStatement() bool {
	switch c.parent().(type) {
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt:
		return true
	}
	return false
}

// dropStatement removes an assignment to an existing variable, a call, a jump, or an if without else; of the latter it
// also returns the body alone. It skips panics, which state that the package has a bug, so that no test can reach them.
func dropStatement(c cursor) []change {
	s, ok := c.node.(ast.Stmt)
	if list, at := c.list(); !ok || at != s.Pos() || list > s.Pos() {
		return nil
	}
	switch c.parent().(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return nil
	}
	switch n := s.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE || blank(n) {
			return nil
		}
	case *ast.ExprStmt:
		if strings.HasPrefix(c.text(n), "panic(") {
			return nil
		}
	case *ast.IfStmt:
		if n.Else != nil || len(n.Body.List) == 1 && strings.HasPrefix(c.text(n.Body.List[0]), "panic(") {
			return nil
		}
		body := c.text(n.Body)
		if n.Init != nil {
			body = "{ " + c.text(n.Init) + "; " + body + " }"
		}
		return append(c.instead("drop-statement", ""), c.instead("always", body)...)
	case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.BranchStmt:
	default:
		return nil
	}
	return c.instead("drop-statement", "")
}

// dropError returns nil in place of an error.
func dropError(c cursor) []change {
	e, ok := c.node.(ast.Expr)
	if _, in := c.parent().(*ast.ReturnStmt); !ok || !in || c.source.info.Types[e].IsNil() {
		return nil
	}
	if t := c.source.info.Types[e].Type; t == nil || !isError(t) {
		return nil
	}
	return c.instead("drop-error", "nil")
}

// blank reports whether a statement assigns to blanks alone.
func blank(s *ast.AssignStmt) bool {
	return !slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return !ok || id.Name != "_"
	})
}
