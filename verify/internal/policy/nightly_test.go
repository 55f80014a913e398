package policy

import (
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNightlyRunsWhatIsNightly: .ci/nightly names exactly the tests whose figures NIGHTLY changes, and the trees of
// their packages.
func TestNightlyRunsWhatIsNightly(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root, ".ci/nightly"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`NIGHTLY=1 go test .*-run '\^\(([\w|]+)\)\$' (.*)`).FindStringSubmatch(string(script))
	if m == nil {
		t.Fatal(".ci/nightly has no line NIGHTLY=1 go test … -run '^(…|…)$' PACKAGES")
	}
	named, trees, read := strings.Split(m[1], "|"), strings.Fields(m[2]), nightly(t)
	for test, dirs := range read {
		if !slices.Contains(named, test) {
			t.Errorf(".ci/nightly lacks %s of %s, which reads NIGHTLY", test, dirs)
		}
		for _, dir := range dirs {
			in := func(tree string) bool { return inTree(dir, strings.TrimSuffix(strings.TrimPrefix(tree, "./"), "/...")) }
			if !slices.ContainsFunc(trees, in) {
				t.Errorf(".ci/nightly lacks the package of %s, %s", test, dir)
			}
		}
	}
	for _, test := range named {
		if read[test] == nil {
			t.Errorf(".ci/nightly names %s, which is not a test that reads NIGHTLY", test)
		}
	}
}

// nightly returns the folders of each test that reads NIGHTLY itself, or by a function or a type of a package for tests.
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
