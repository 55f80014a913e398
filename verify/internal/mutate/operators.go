package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

// operators returns the kinds of mistakes. Each is a function from a place in the tree to changes of the source there.
func operators() []func(cursor) []change {
	return []func(cursor) []change{
		arithmetic, dropCall, method, sign, compare, offByOne, replaceConstant, negate, dropStatement, dropError,
	}
}

// swapped returns the methods of two operands whose order matters.
func swapped() []string { return []string{"Sub", "Div", "MatMul", "MatMulT"} }

// confused returns methods that can be confused: sum and mean, along rows and along columns, plus and minus.
func confused() map[string][]string {
	return map[string][]string{
		"Add": {"Sub"}, "Sub": {"Add"}, "Mul": {"Div"}, "Div": {"Mul"},
		"Sum": {"Mean", "SumTokens"}, "SumTokens": {"Sum"}, "Mean": {"Sum"},
		"MatMul": {"MatMulT"}, "MatMulT": {"MatMul"},
		"Columns": {"Tokens"}, "Tokens": {"Columns"}, "Max": {"Min"}, "Min": {"Max"},
	}
}

// instead returns a change of a node.
func (c cursor) instead(operator, text string) []change {
	return []change{{operator, c.node.Pos(), c.node.End(), text}}
}

// arithmetic keeps one operand of + − · / % && ||, and swaps the operands of a difference.
func arithmetic(c cursor) (out []change) {
	e, ok := c.node.(*ast.BinaryExpr)
	if !ok || c.isConstant(e) {
		return nil
	}
	x, y := c.text(e.X), c.text(e.Y)
	switch number := isNumber(c.typeOf(e)); {
	case e.Op == token.LAND, e.Op == token.LOR, number && (e.Op == token.ADD || e.Op == token.MUL):
		out = append(c.instead("drop-right", x), c.instead("drop-left", y)...)
	case number && e.Op == token.SUB:
		out = append(c.instead("drop-right", x), c.instead("swap", "("+c.operand(e.Y)+" - "+c.operand(e.X)+")")...)
	case number && (e.Op == token.QUO || e.Op == token.REM):
		out = c.instead("drop-right", x)
	}
	return out
}

// method swaps the operands of x.f(y), transposes one operand of a product, and replaces the method by a similar one.
func method(c cursor) (out []change) {
	call, ok := c.node.(*ast.CallExpr)
	if !ok {
		return nil
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || c.source.info.Types[s.X].Type == nil {
		return nil
	}
	name, x := s.Sel.Name, c.source.info.Types[s.X].Type
	if len(call.Args) == 1 && c.same(call.Args[0], x) {
		for _, f := range swapped() {
			if f == name {
				out = c.instead("swap", c.operand(call.Args[0])+"."+name+"("+c.text(s.X)+")")
			}
		}
		if name == "MatMul" && c.has(x, "Transpose") != nil {
			y := call.Args[0]
			out = append(out, change{"transpose-left", s.X.Pos(), s.X.End(), c.operand(s.X) + ".Transpose()"},
				change{"transpose-right", y.Pos(), y.End(), c.operand(y) + ".Transpose()"})
		}
	}
	for _, other := range confused()[name] {
		if f, g := c.has(x, name), c.has(x, other); f != nil && g != nil && types.Identical(f.Type(), g.Type()) {
			out = append(out, change{"as-" + other, s.Sel.Pos(), s.Sel.End(), other})
		}
	}
	return out
}

// sign replaces plus by minus and vice versa.
func sign(c cursor) []change {
	turned := map[token.Token]string{token.ADD: "-", token.SUB: "+", token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}
	switch n := c.node.(type) {
	case *ast.BinaryExpr:
		if text, ok := turned[n.Op]; ok && isNumber(c.typeOf(n)) && !c.isConstant(n) {
			return []change{{"sign", n.OpPos, n.OpPos + 1, text}}
		}
	case *ast.AssignStmt:
		if text, ok := turned[n.Tok]; ok && isNumber(c.typeOf(n.Lhs[0])) {
			return []change{{"sign", n.TokPos, n.TokPos + 2, text}}
		}
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			return c.instead("sign", c.text(n.X))
		}
	}
	return nil
}
