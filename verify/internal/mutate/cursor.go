package main

import (
	"go/ast"
	"go/token"
	"slices"
)

// cursor is a place in the body of a function.
type cursor struct {
	*module
	source *source
	file   *file
	decl   *ast.FuncDecl
	node   ast.Node
	stack  []ast.Node // the nodes around it, outermost first
}

// walk adds the mutants of n and of the nodes below it.
func (c cursor) walk(n ast.Node, out *[]*mutant) {
	c.node = n
	if c.silent() {
		return
	}
	for _, operator := range operators() {
		for _, ch := range operator(c) {
			*out = append(*out, c.mutant(ch))
		}
	}
	c.stack = append(slices.Clip(c.stack), n)
	for _, child := range children(n) {
		c.walk(child, out)
	}
}

func (c cursor) parent() ast.Node { return c.stack[len(c.stack)-1] }

func (c cursor) isConstant(e ast.Expr) bool { return c.source.info.Types[e].Value != nil }

func (c cursor) text(n ast.Node) string { return c.between(n.Pos(), n.End()) }

// phrase returns the text by which the list of equivalent mutants names the node: the text of the node or, as long as
// it is shorter than eight bytes, of the expression or the simple statement around it.
func (c cursor) phrase() string {
	n := c.node
	for _, outer := range slices.Backward(c.stack) {
		switch outer.(type) {
		case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause, *ast.FuncLit, *ast.FuncDecl:
			return line(c.text(n), 60)
		}
		if len(c.text(n)) >= 8 {
			break
		}
		n = outer
	}
	return line(c.text(n), 60)
}

// operand returns the text of an expression, in parentheses if an adjacent operator would bind more tightly.
func (c cursor) operand(e ast.Expr) string {
	switch e.(type) {
	case *ast.Ident, *ast.BasicLit, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr, *ast.ParenExpr:
		return c.text(e)
	}
	return "(" + c.text(e) + ")"
}

func (c cursor) between(from, to token.Pos) string { return c.file.text[c.offset(from):c.offset(to)] }

func (c cursor) offset(p token.Pos) int { return c.fset.Position(p).Offset }

// list returns the beginning of the innermost list of statements around the cursor, and the statement in it that holds
// the cursor.
func (c cursor) list() (list, statement token.Pos) {
	statement = c.node.Pos()
	for _, n := range slices.Backward(c.stack) {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if len(n.List) == 0 || !isClause(n.List[0]) {
				return n.Lbrace + 1, statement
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(n.Body, func(s ast.Stmt) bool { return s.Pos() == statement }) {
				return n.Colon + 1, statement
			}
		case *ast.CommClause:
			if slices.ContainsFunc(n.Body, func(s ast.Stmt) bool { return s.Pos() == statement }) {
				return n.Colon + 1, statement
			}
		}
		statement = n.Pos()
	}
	return c.decl.Body.Lbrace + 1, statement
}

func isClause(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}

func children(n ast.Node) (out []ast.Node) {
	ast.Inspect(n, func(child ast.Node) bool {
		if child != nil && child != n {
			out = append(out, child)
		}
		return child == n
	})
	return out
}
