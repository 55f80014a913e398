package cases

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Every entry of the inventory is certified: by a Case, or by tests that exist.
func TestInventory(t *testing.T) {
	said := map[string]string{}
	for _, e := range slices.Concat(ofVariants[float64](fixture.Default()), families[float64](fixture.Default())) {
		if before, ok := said[e.ID]; ok && before != "" && e.What != "" && before != e.What {
			t.Errorf("%s is both %q and %q", e.ID, before, e.What)
		}
		said[e.ID] = cmp.Or(said[e.ID], e.What)
	}
	tests := namesOfTests(t)
	var ids []string
	for _, e := range At(fixture.Default()) {
		if slices.Contains(ids, e.ID) {
			t.Errorf("%s twice", e.ID)
		}
		ids = append(ids, e.ID)
		if e.What == "" || e.Source == "" {
			t.Errorf("%s has no description", e.ID)
		}
		if len(e.Cases) == 0 && len(e.Tests) == 0 {
			t.Errorf("%s: neither a Case nor a test", e)
		}
		for _, name := range e.Tests {
			if !tests[name] {
				t.Errorf("%s: there is no %s", e, name)
			}
		}
		by := regexp.MustCompile("^Test" + e.ID + "[A-Z]")
		found := false
		for name := range tests {
			found = found || by.MatchString(name)
		}
		if !found {
			t.Errorf("%s: no test of its invariants is named after it", e)
		}
	}
	// the entries of the five papers
	for _, r := range [][2]int{{1, 8}, {10, 18}, {20, 28}, {30, 33}, {40, 48}, {50, 56}} {
		for i := r[0]; i <= r[1]; i++ {
			if id := fmt.Sprintf("I%02d", i); !slices.Contains(ids, id) {
				t.Errorf("%s is missing", id)
			}
		}
	}
}

// namesOfTests returns the names of all tests of the module.
func namesOfTests(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
