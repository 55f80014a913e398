package policy

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fuzzTargets returns the corpus directory of each fuzz target of the module.
func fuzzTargets(t *testing.T) map[string]bool {
	t.Helper()
	targets := map[string]bool{}
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && f.test && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				targets[filepath.Join(root, f.dir, "testdata", "fuzz", fn.Name.Name)] = true
			}
		}
	}
	return targets
}

// Every fuzz target has a committed corpus, every corpus a target, and PROMISES.md states the number of targets.
func TestFuzzTargetsHaveCorpora(t *testing.T) {
	targets := fuzzTargets(t)
	for dir := range targets {
		entries, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(entries) < 8 {
			t.Errorf("%s: got %d entries, want 8 or more", dir, len(entries))
		}
		for _, path := range entries {
			if data, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(data), "go test fuzz v1\n") ||
				len(data) > 64<<10 {
				t.Errorf("%s: got %d bytes, %v, want an entry of a corpus of at most 64 KiB", path, len(data), err)
			}
		}
	}
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		dirs, err := filepath.Glob(filepath.Join(root, depth, "testdata", "fuzz", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			if !targets[dir] {
				t.Errorf("%s: got a corpus, want its target", dir)
			}
		}
	}
	promises, err := os.ReadFile(root + "/PROMISES.md")
	if want := fmt.Sprintf("%d fuzz targets with committed corpora", len(targets)); err != nil ||
		!strings.Contains(string(promises), want) {
		t.Errorf("PROMISES.md: want %q, %v", want, err)
	}
}

// Every fuzz target states a bound of its memory and its time.
func TestFuzzTargetsAreBounded(t *testing.T) {
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !f.test || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Fuzz") {
				continue
			}
			bounded := false
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if ok && call.Sel.Name == "Bounded" {
					in, ok := call.X.(*ast.Ident)
					bounded = bounded || ok && in.Name == "fuzzed"
				}
				return true
			})
			if !bounded {
				t.Errorf("%s: %s: want a call of fuzzed.Bounded", f.dir, fn.Name.Name)
			}
		}
	}
}
