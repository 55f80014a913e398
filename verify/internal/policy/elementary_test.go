package policy

import (
	"go/ast"
	"slices"
	"testing"
)

// TestElementaryFunctions checks that what reaches a weight or a token comes from internal/elementary: functions of
// package math have other bits on some processors.
func TestElementaryFunctions(t *testing.T) {
	trees := []string{
		"graph", "nn", "gpt/train", "gpt/search", "gpt/service", "gpt/seq2seq", "gpt/preference", "gpt/tasks",
		"gpt/parts", "gpt/published",
	}
	functions := []string{
		"Acos", "Asin", "Atan", "Cbrt", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Exp2", "Expm1", "Gamma", "Hypot", "Log",
		"Log10", "Log1p", "Log2", "Pow", "Sin", "Sincos", "Sinh", "Tan", "Tanh",
	}
	exceptions := map[string]string{
		"graph/internal/kernel/gelu.go":     "Φ in float64; float32 has its own kernel",
		"graph/internal/ops/elementwise.go": "a stock operation",
		"gpt/tasks/markov.go":               "a bound of a size",
		"graph/internal/kernel/kerneltest":  "helps tests",
		"graph/internal/kernel/gen":         "constants in the code of kernels",
	}
	used := map[string]bool{}
	for _, f := range sources(t) {
		if f.test || !slices.ContainsFunc(trees, func(tree string) bool { return inTree(f.dir, tree) }) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "math" || !slices.Contains(functions, s.Sel.Name) {
				return true
			}
			for place := range exceptions {
				if inTree(f.path, place) {
					used[place] = true
					return true
				}
			}
			t.Errorf("%s calls math.%s: internal/elementary has the same bits on every processor", f.path, s.Sel.Name)
			return true
		})
	}
	for place, reason := range exceptions {
		if !used[place] {
			t.Errorf("%s needs no exception (%s)", place, reason)
		}
	}
}
