package policy

import (
	"go/ast"
	"strings"
	"testing"
)

// TestEveryProgramTriesItsFlags: a program with flags has a TestEveryFlag, which fails where a flag is ignored.
func TestEveryProgramTriesItsFlags(t *testing.T) {
	flags, tried := map[string]bool{}, map[string]bool{}
	for _, f := range sources(t) {
		if f.top() != "examples" || f.syntax.Name.Name != "main" {
			continue
		}
		flags[f.dir] = flags[f.dir] || !f.test && readsFlags(f)
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && f.test && d.Recv == nil && d.Name.Name == "TestEveryFlag" {
				tried[f.dir] = tried[f.dir] || calls(d, "Check")
			}
		}
	}
	if len(flags) < 10 {
		t.Fatalf("%d programs found, want 10 or more", len(flags))
	}
	for dir, has := range flags {
		if has && !tried[dir] {
			t.Errorf("%s has flags, but no TestEveryFlag that calls Check of flagtest.Program", dir)
		}
	}
}

// readsFlags reports whether the file makes a set of flags, or defines or parses flags of package flag.
func readsFlags(f sourceFile) (found bool) {
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := s.X.(*ast.Ident)
		name := s.Sel.Name
		found = found || ok && (of.Name == "program" && name == "Flags" || of.Name == "flag" &&
			(name == "Parse" || name == "NewFlagSet" || strings.HasSuffix(name, "Var") || name == "Bool" ||
				name == "Int" || name == "String"))
		return true
	})
	return found
}

// calls reports whether the function calls a method of that name.
func calls(f *ast.FuncDecl, method string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			s, ok := c.Fun.(*ast.SelectorExpr)
			found = found || ok && s.Sel.Name == method
		}
		return true
	})
	return found
}
