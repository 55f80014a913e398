package policy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// Functions that panic instead of returning an error, such as regexp.MustCompile, are called only with constants: input
// from a file or a caller could end the program.
func TestMustIsOfConstants(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || slices.Contains(f.imports, "testing") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !strings.HasPrefix(s.Sel.Name, "Must") {
				return true
			}
			for _, a := range call.Args {
				if _, constant := a.(*ast.BasicLit); !constant {
					t.Errorf(
						"%s: %s is called with more than constants; want the function that returns an error", f.path,
						s.Sel.Name,
					)
				}
			}
			return true
		})
	}
}
