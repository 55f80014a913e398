package policy

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestFilesAreOpenedInOnePlace checks that only internal/file opens and renames files, because it opens regular files
// only, never waits for a FIFO, and flushes a file before it renames it. The exceptions are listed with their reasons.
func TestFilesAreOpenedInOnePlace(t *testing.T) {
	forbidden := map[string][]string{
		"os": {"Open", "OpenFile", "OpenInRoot", "OpenRoot", "Create", "CreateTemp", "ReadFile", "WriteFile", "DirFS",
			"Rename"},
		"syscall":       {"Open", "Openat"},
		"io/ioutil":     {"ReadFile", "WriteFile", "TempFile"},
		"text/template": {"ParseFiles", "ParseGlob"},
		"html/template": {"ParseFiles", "ParseGlob"},
	}
	exceptions := map[string]string{ // a file, or all below a directory
		"internal/file":                      "the place",
		"gpt/checkpoint/disk.go":             "a disk that tests replace; Save flushes what it renames",
		"graph/internal/memory":              "/proc and /sys",
		"examples/bench/processor.go":        "/proc",
		"examples/internal/program/cores.go": "/sys",
		"graph/internal/kernel/gen":          "writes the module's own assembly",
		"internal/fuzzed":                    "makes the files of tests",
		"examples/internal/flagtest":         "helps tests",
		"verify/internal/api":                "a tool that reads the module",
		"verify/internal/notice":             "a tool that reads the module and its dependencies",
		"verify/internal/fused":              "a tool that reads the module",
		"verify/internal/mutate":             "a tool that reads the module and what the compiler writes",
	}
	used := map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		imported := map[string]string{} // by name
		for _, s := range f.syntax.Imports {
			path := strings.Trim(s.Path.Value, `"`)
			if name := path[strings.LastIndexByte(path, '/')+1:]; s.Name == nil {
				imported[name] = path
			} else {
				imported[s.Name.Name] = path
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok || !slices.Contains(forbidden[imported[x.Name]], s.Sel.Name) {
				return true
			}
			for place := range exceptions {
				if inTree(f.path, place) {
					used[place] = true
					return true
				}
			}
			t.Errorf("%s calls %s.%s: only internal/file opens files", f.path, x.Name, s.Sel.Name)
			return true
		})
	}
	for place := range exceptions {
		if !used[place] {
			t.Errorf("%s opens no file: it is not an exception", place)
		}
	}
}
