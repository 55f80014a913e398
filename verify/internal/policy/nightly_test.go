package policy

import (
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNightlyRunsWhatIsNightly: every test that NIGHTLY changes runs in a part of .ci/nightly, and PROMISES.md has a
// row for every part, in which at most 20 minutes are recorded.
func TestNightlyRunsWhatIsNightly(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, ".ci/nightly"))
	if err != nil {
		t.Fatal(err)
	}
	var trees []string
	for _, m := range regexp.MustCompile(`(?m)^\t[a-z-]+\) tests (.*?) ;;`).FindAllStringSubmatch(string(script), -1) {
		for _, word := range strings.Fields(m[1]) {
			before, rest, _ := strings.Cut(word, "{")
			list, after, _ := strings.Cut(rest, "}")
			for _, name := range strings.Split(list, ",") { // one empty name without braces
				if tree, ok := strings.CutPrefix(before+name+after, "./"); ok {
					trees = append(trees, tree)
				}
			}
		}
	}
	tests := nightly(t)
	for test, dirs := range tests {
		for _, dir := range dirs {
			in := func(tree string) bool {
				below, all := strings.CutSuffix(tree, "/...")
				return tree == dir || all && inTree(dir, below)
			}
			if !slices.ContainsFunc(trees, in) {
				t.Errorf(".ci/nightly runs no tests of %s; want those of %s, which read NIGHTLY", dir, test)
			}
		}
	}
	if len(tests) < 30 {
		t.Errorf("got %d tests that read NIGHTLY, want at least 30", len(tests))
	}
	parts := regexp.MustCompile(`(?m)^\t([a-z][a-z0-9-]*)\) `).FindAllStringSubmatch(string(script), -1)
	for _, m := range parts {
		row := regexp.MustCompile(
			`(?m)^\| ` + m[1] + ` \| (\d+\.\d|) \|`,
		).FindStringSubmatch(document(t, "PROMISES.md"))
		if row == nil {
			t.Errorf("PROMISES.md has no row of %s, a part of .ci/nightly", m[1])
		} else if n, _ := strconv.ParseFloat(row[1], 64); n > 20 {
			t.Errorf("PROMISES.md: %s took %v minutes, want at most 20", m[1], n)
		}
	}
	if len(parts) < 20 {
		t.Errorf("got %d parts, want at least 20", len(parts))
	}
}

// nightly returns the folders of each test that reads NIGHTLY itself, or by a function or a type of a package for
// tests.
func nightly(t *testing.T) map[string][]string {
	var helpers []string // package.Function or package.Type
	tests := map[string][]string{}
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !f.test && readsNightly(d) {
				name := d.Name.Name
				if d.Recv != nil {
					name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*")
				}
				helpers = append(helpers, f.syntax.Name.Name+"."+name)
			}
		}
	}
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || !f.test {
				continue
			}
			test := strings.HasPrefix(d.Name.Name, "Test")
			if !test && readsNightly(d) {
				t.Errorf("%s: %s reads NIGHTLY; want its test to read it", f.path, d.Name.Name)
			}
			if test && (readsNightly(d) || usesOne(d, helpers)) {
				tests[d.Name.Name] = append(tests[d.Name.Name], f.dir)
			}
		}
	}
	return tests
}

// readsNightly reports whether the function mentions the variable NIGHTLY of the environment.
func readsNightly(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.BasicLit)
		found = found || ok && s.Value == `"NIGHTLY"`
		return true
	})
	return found
}

// usesOne reports whether the function mentions one of the names package.Name.
func usesOne(f *ast.FuncDecl, names []string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			found = found || slices.Contains(names, types.ExprString(s))
		}
		return true
	})
	return found
}
