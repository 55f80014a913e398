package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// compare moves the border of a comparison, or turns equal into unequal.
func compare(c cursor) []change {
	other := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "=="}
	e, ok := c.node.(*ast.BinaryExpr)
	if !ok || other[e.Op] == "" || c.isConstant(e) {
		return nil
	}
	return []change{{"compare", e.OpPos, e.OpPos + token.Pos(len(e.Op.String())), other[e.Op]}}
}

// offByOne: x[i] → x[i+1], x[a:b] → x[a+1:b] and x[a:b-1], and loops that end one step early. Constants are left to
// replaceConstant.
func offByOne(c cursor) (out []change) {
	shift := func(e ast.Expr, by string) {
		if e != nil && !c.isConstant(e) && isBasic(c.typeOf(e), types.IsInteger) {
			out = append(out, change{"off-by-one", e.Pos(), e.End(), c.operand(e) + by})
		}
	}
	switch n := c.node.(type) {
	case *ast.IndexExpr:
		if _, ok := c.typeOf(n.X).(*types.Map); !ok {
			shift(n.Index, " + 1")
		}
	case *ast.SliceExpr:
		shift(n.Low, " + 1")
		shift(n.High, " - 1")
		if len(out) == 2 {
			out[1].operator = "off-by-one-high"
		}
	case *ast.RangeStmt:
		shift(n.X, " - 1")
	case *ast.ForStmt:
		if e, ok := n.Cond.(*ast.BinaryExpr); ok && (e.Op == token.LSS || e.Op == token.LEQ) {
			shift(e.Y, " - 1")
		}
	}
	return out
}

// negate turns a condition of if, for and switch around, unless it compares for equality, which compare does.
func negate(c cursor) []change {
	e, ok := c.node.(ast.Expr)
	if b, is := e.(*ast.BinaryExpr); !ok || is && (b.Op == token.EQL || b.Op == token.NEQ) {
		return nil
	}
	condition := false
	switch n := c.parent().(type) {
	case *ast.IfStmt:
		condition = n.Cond == e
	case *ast.ForStmt:
		condition = n.Cond == e
	case *ast.CaseClause:
		s, ok := c.stack[len(c.stack)-3].(*ast.SwitchStmt)
		condition = ok && s.Tag == nil && e.Pos() < n.Colon
	}
	if !condition {
		return nil
	}
	return c.instead("negate", "!"+c.operand(e))
}

// dropStatement leaves out an assignment to what exists, a call, a jump, or an if without else, of which it also makes
// the body alone. A panic says that the package has a bug, so no test can miss it.
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
		blank := true
		for _, e := range n.Lhs {
			id, ok := e.(*ast.Ident)
			blank = blank && ok && id.Name == "_"
		}
		if n.Tok == token.DEFINE || blank {
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
