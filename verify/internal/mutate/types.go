package main

import (
	"go/ast"
	"go/types"
)

// typeOf returns the underlying type of e, or nil.
func (c cursor) typeOf(e ast.Expr) types.Type {
	t := c.source.info.Types[e].Type
	if t == nil || isTypeParam(t) {
		return t
	}
	return t.Underlying()
}

// same reports whether e has the type.
func (c cursor) same(e ast.Expr, t types.Type) bool {
	x := c.source.info.Types[e].Type
	return x != nil && t != nil && types.Identical(x, t)
}

// has returns the method of a type, or nil.
func (c cursor) has(t types.Type, method string) types.Object {
	f, _, _ := types.LookupFieldOrMethod(t, true, nil, method)
	if _, ok := f.(*types.Func); !ok {
		return nil
	}
	return f
}

func isNumber(t types.Type) bool { return isTypeParam(t) || isBasic(t, types.IsNumeric) }

func isBasic(t types.Type, is types.BasicInfo) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&is != 0
}

func isTypeParam(t types.Type) bool {
	_, ok := t.(*types.TypeParam)
	return ok
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
