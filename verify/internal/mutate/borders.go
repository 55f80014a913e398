package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// compare moves the border of a comparison, or turns equal into unequal.
func compare(c cursor) []change {
	other := map[token.Token]string{
		token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	}
	e, ok := c.node.(*ast.BinaryExpr)
	if !ok || other[e.Op] == "" || c.isConstant(e) {
		return nil
	}
	return []change{{"compare", e.OpPos, e.OpPos + token.Pos(len(e.Op.String())), other[e.Op]}}
}

// offByOne returns x[i] → x[i+1], x[a:b] → x[a+1:b] and x[a:b-1], and loops that end one step early. It leaves
// constants to replaceConstant.
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

// negate inverts a condition of if, for or switch, unless it compares for equality, which compare does.
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
