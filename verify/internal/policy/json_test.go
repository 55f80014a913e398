package policy

import (
	"go/ast"
	"strings"
	"testing"
)

// The packages of gpt read JSON by gpt/internal/field, whose errors name the key, both kinds of value and the place.
func TestJSONIsReadByField(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || !strings.HasPrefix(f.dir, "gpt") || f.dir == "gpt/internal/field" || f.dir == "internal/fuzzed" {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "json" && (s.Sel.Name == "Unmarshal" ||
				s.Sel.Name == "NewDecoder") {
				t.Errorf("%s: got json.%s, want field.Unmarshal, UnmarshalStrict or UnmarshalPart", f.path, s.Sel.Name)
			}
			return true
		})
	}
}
