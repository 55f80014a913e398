package graph

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentsNameWhatExists: paths and tests in the documents of the root are there. A path is what a link leads to, or
// what is in code and begins with a folder of ours; one with … or with a part named name or rmsnorm is an example.
func TestDocumentsNameWhatExists(t *testing.T) {
	tests := map[string]bool{}
	for _, f := range sources(t) {
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && f.test {
				tests[d.Name.Name] = true
			}
		}
	}
	link, code := regexp.MustCompile(`\]\(([^)#:]+)\)`), regexp.MustCompile("`((?:graph|nn|gpt|verify|examples|\\.ci)/[^` ]+)`")
	command := regexp.MustCompile(`\./((?:graph|nn|gpt|verify|examples)[\w/.]*)`)
	name, example := regexp.MustCompile(`\bTest[A-Z]\w+`), regexp.MustCompile(`…|\b(name|rmsnorm|op_rmsnorm|lines|jsonlines)\.go$|text\.jsonl$`)
	found := 0
	for _, document := range []string{"CONTRIBUTING.md", "README.md", "GLOSSARY.md", "PROMISES.md"} {
		data, err := os.ReadFile(filepath.Join("..", document))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []*regexp.Regexp{link, code, command} {
			for _, m := range e.FindAllStringSubmatch(string(data), -1) {
				path := strings.TrimSuffix(m[1], "/...")
				if found++; example.MatchString(path) {
					continue
				}
				if _, err := os.Stat(filepath.Join("..", path)); err != nil {
					t.Errorf("%s names %s, which is not there", document, path)
				}
			}
		}
		for _, test := range name.FindAllString(string(data), -1) {
			if found++; !tests[test] {
				t.Errorf("%s names %s, which is no test", document, test)
			}
		}
	}
	if found < 40 {
		t.Errorf("%d paths and tests found, want more", found)
	}
}
