package policy

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// The two lists that contain every variant: what a configuration can name, and what is verified by hand.
const (
	library  = "gpt/parts"
	verified = "verify/internal/variants"
)

// TestVariantsAreInTwoLists checks that gpt/parts and verify/internal/variants list the same variants, each once, and
// that no other code lists them. A new variant is then a row in each of the two.
func TestVariantsAreInTwoLists(t *testing.T) {
	byHand := map[string][]string{}
	for _, v := range variants.List[float64]() {
		if encoder := v.Kind == "attention" && v.Name == "full"; !encoder { // gpt/seq2seq lists it
			byHand[v.Kind] = append(byHand[v.Kind], v.Name)
		}
	}
	kinds := named()
	for kind, names := range kinds {
		for _, name := range names {
			if n := count(byHand[kind], name); n != 1 {
				t.Errorf("%s %s is a row of %s: got %d rows in %s, want 1, with its layer by hand",
					kind, name, library, n, verified)
			}
		}
		for _, name := range byHand[kind] {
			if n := count(names, name); n != 1 {
				t.Errorf("%s %s is a row of %s: got %d rows in %s, want 1", kind, name, verified, n, library)
			}
		}
	}
	for _, f := range sources(t) {
		if f.test || f.top() == "graph" || f.dir == "verify/notation" || inTree(f.dir, library) ||
			inTree(f.dir, verified) { // graph names kernels, and notation functions
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			list, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			for kind, names := range kinds {
				if found := listed(list, kind, names); len(found) > 1 && exceptions[f.path] == "" {
					t.Errorf("%s lists the variants %s of %s: only %s and %s may; read their lists instead",
						positions.Position(list.Pos()), strings.Join(found, ", "), kind, library, verified)
				}
			}
			return true
		})
	}
}

// exceptions gives the reason why a file may list variants.
var exceptions = map[string]string{
	"examples/lab/arms.go": "the options that some attentions require in its table",
}

// named returns the names of the variants that a configuration can name, by kind.
func named() map[string][]string {
	r := parts.Library()
	return map[string][]string{
		"position": all(r.Positions), "attention": all(r.Attentions), "norm": all(r.Norms), "block": all(r.Blocks),
		"activation": all(r.Activations), "mlp": all(r.MLPs), "head": all(r.Heads),
	}
}

// all returns the name of each variant, with those that occur twice.
func all[P interface{ String() string }](list []P) (names []string) {
	for _, p := range list {
		names = append(names, p.String())
	}
	return names
}

func count(list []string, name string) (n int) {
	for _, s := range list {
		if s == name {
			n++
		}
	}
	return n
}

// listed returns the names that are elements or keys of a composite literal, alone or as kind=name, or the first
// element of an element.
func listed(list *ast.CompositeLit, kind string, names []string) (found []string) {
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok {
			s, err := strconv.Unquote(l.Value)
			if name := strings.TrimPrefix(s, kind+"="); err == nil && s != kind && slices.Contains(names, name) &&
				!slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	for _, e := range list.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			if _, field := pair.Key.(*ast.Ident); field {
				continue
			}
			e = pair.Key
		}
		if inner, ok := e.(*ast.CompositeLit); ok && len(inner.Elts) > 0 {
			e = inner.Elts[0]
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				e = pair.Value
			}
		}
		add(e)
	}
	return found
}
