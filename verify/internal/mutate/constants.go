package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// replaceConstant returns 0 → 1, 1 → 0 and 2, another c → c+1 or 2c, true → false, for a literal or a name.
func replaceConstant(c cursor) []change {
	e, ok := c.node.(ast.Expr)
	if !ok {
		return nil
	}
	switch n := e.(type) {
	case *ast.BasicLit:
	case *ast.Ident:
		if _, ok := c.source.info.Uses[n].(*types.Const); !ok || n.Name == "iota" {
			return nil
		}
		if s, ok := c.parent().(*ast.SelectorExpr); ok {
			e = s
		}
	default:
		return nil
	}
	v, t := c.source.info.Types[e].Value, c.typeOf(e)
	if v == nil || t == nil {
		return nil
	}
	put := func(operator, text string) []change { return []change{{operator, e.Pos(), e.End(), text}} }
	is := func(n int64) bool { return constant.Compare(v, token.EQL, constant.MakeInt64(n)) }
	switch {
	case v.Kind() == constant.Bool:
		return put("not", "!"+c.text(e))
	case !isNumber(t):
		return nil
	case is(0):
		return put("one", "1")
	case is(1):
		return append(put("zero", "0"), put("two", "2")...)
	case isBasic(t, types.IsInteger):
		return put("plus-one", "("+c.text(e)+" + 1)")
	}
	return put("twice", "(2 * "+c.text(e)+")")
}
