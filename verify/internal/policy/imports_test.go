package policy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestImportDirections checks the directions graph ← nn ← gpt ← verify and examples, and that only graph and
// graph/internal/ops import Gorgonia.
func TestImportDirections(t *testing.T) {
	// what of ours the files of a tree, but not its tests, may import: the deepest tree counts
	allowed := map[string][]string{
		".":                        {},
		"internal":                 {},
		"graph":                    {"internal", "graph/internal"},
		"graph/internal":           {"graph/internal", "internal"},
		"graph/internal/graphtest": {"graph"},
		"graph/optim":              {"graph", "internal/elementary"},
		"graph/fused":              {"graph", "internal"},
		"graph/stored":             {"graph", "internal"},
		"nn":                       {"graph", "internal/elementary"},
		"gpt":                      {"graph", "nn", "gpt", "internal"},
		"gpt/search":               {"graph", "gpt/internal", "internal"},
		"gpt/tasks":                {"graph", "gpt/text", "gpt/internal", "internal"},
		"gpt/decode":               {"graph", "nn", "gpt/parts", "gpt/search", "gpt/internal", "internal"},
		"gpt/lab/paired":           {},
		"gpt/lab/scaling":          {},
		"gpt/lab/verdict":          {"graph", "nn", "gpt", "verify", "internal"}, // stands above verify, as examples do
		"verify":                   {"graph", "nn", "gpt", "verify", "internal"},
		"examples":                 {"graph", "nn", "gpt", "verify", "examples", "internal"},
	}
	room := func(dir string) (found string) {
		for tree := range allowed {
			if inTree(dir, tree) && len(tree) > len(found) {
				found = tree
			}
		}
		return found
	}
	seen := map[string]bool{}
	for _, f := range sources(t) {
		room := room(f.dir)
		if seen[room] = true; room == "" {
			t.Errorf("%s is in an unknown package", f.path)
		}
		for _, path := range f.imports {
			ours, isOurs := strings.CutPrefix(path, module)
			switch {
			case inTree(path, "gorgonia.org/gorgonia") || inTree(path, "gorgonia.org/tensor"):
				if f.dir != "graph" && f.dir != "graph/internal/ops" {
					t.Errorf("%s imports %s: only graph and its ops may", f.path, path)
				}
			case inTree(path, "gonum.org/v1/plot"):
				if f.top() != "examples" {
					t.Errorf("%s imports %s: only examples may", f.path, path)
				}
			case !isOurs || f.test:
			default:
				ok := false
				for _, tree := range allowed[room] {
					ok = ok || inTree(ours, tree)
				}
				if !ok {
					t.Errorf("%s imports %s: it may import %v", f.path, path, allowed[room])
				}
			}
		}
	}
	for tree := range allowed {
		if !seen[tree] {
			t.Errorf("no file in %s", tree)
		}
	}
}

// TestModelsAreApart checks that neither gpt nor gpt/seq2seq imports the other. They share the packages below them.
func TestModelsAreApart(t *testing.T) {
	other := map[string]string{"gpt": "gpt/seq2seq", "gpt/seq2seq": "gpt"}
	for _, f := range sources(t) {
		if want, ok := other[f.dir]; ok && !f.test && slices.Contains(f.imports, module+want) {
			t.Errorf("%s imports %s: shared code belongs in a package below both", f.path, want)
		}
	}
}

// TestEveryPackageHasADocSentence checks that every package has "Package graph …" or, for a command, a comment.
func TestEveryPackageHasADocSentence(t *testing.T) {
	said := map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		doc := f.syntax.Doc.Text()
		name := f.syntax.Name.Name
		said[f.dir] = said[f.dir] || strings.HasPrefix(doc, "Package "+name+" ") || name == "main" && doc != ""
	}
	if len(said) < 5 {
		t.Fatalf("%d packages found", len(said))
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s has no sentence that describes the package", dir)
		}
	}
}

// TestNoInit checks that no package has an init: packages act only when called.
func TestNoInit(t *testing.T) {
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				t.Errorf("%s has an init", f.path)
			}
		}
	}
}
