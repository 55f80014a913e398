package policy

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// functionWords are pronouns, prepositions and other words of grammar, which name nothing.
var functionWords = strings.Fields(`own mine theirs ours of by all one more rest given kept said held taken whole other
	others same last known to from among left beside none some any each every both many most least less near far so such
	that this these those it its here there then when where which what who how see look seen told put under over than
	apart`)

// pronoun finds a pronoun in place of the noun that it repeats.
var pronoun = regexp.MustCompile(`(?i)\b(that|those) of\b`)

// A rate counts the lines, or names, that a reader stumbles over.
type rate struct{ found, total int }

func (r *rate) add(found bool) {
	r.total++
	if found {
		r.found++
	}
}

// perThousand returns the rate among a thousand.
func (r rate) perThousand() float64 { return 1000 * float64(r.found) / float64(max(1, r.total)) }

// prose returns the rates of pronouns for nouns in lines of comments, help texts and documents, by their kinds.
func prose(t *testing.T) map[string]*rate {
	rates := map[string]*rate{}
	add := func(kind, text string) {
		if rates[kind] == nil {
			rates[kind] = &rate{}
		}
		for line := range strings.Lines(text) {
			if strings.TrimSpace(line) != "" {
				rates[kind].add(pronoun.MatchString(line))
			}
		}
	}
	for _, f := range sources(t) {
		kind := map[bool]string{false: "comments", true: "comments of tests"}[f.test]
		for _, group := range f.syntax.Comments {
			add(kind, group.Text())
		}
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && strings.Count(s.Value, " ") > 2 {
				add("texts in programs", s.Value)
			}
			return true
		})
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		}
		kind := map[string]string{".md": "documents", ".js": "JavaScript"}[path.Ext(file)]
		if d.IsDir() || kind == "" {
			return nil
		}
		text, err := os.ReadFile(root + "/" + file)
		add(kind, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rates
}

// TestNouns bounds the lines with "that of" or "those of", which make a reader look for the noun, among a thousand. The
// bounds may only become smaller; other Go projects have 0.0 to 0.4.
func TestNouns(t *testing.T) {
	bounds := map[string]float64{
		"comments": 0.1, "comments of tests": 0.2, "texts in programs": 0, "documents": 0.6, "JavaScript": 0,
	}
	rates := prose(t)
	for kind := range bounds {
		if rates[kind] == nil {
			t.Errorf("%s: no text was found", kind)
		}
	}
	for kind, r := range rates {
		if got := r.perThousand(); !(got <= bounds[kind]) {
			t.Errorf("%s: got %.1f lines of a thousand with a pronoun for a noun, %d of %d, want at most %g",
				kind, got, r.found, r.total, bounds[kind])
		}
	}
}

// names returns the rates of names that are words of grammar: parameters and locals, and functions and methods.
func names(files []sourceFile, test bool) (variables, functions rate) {
	for _, f := range files {
		if f.test != test {
			continue
		}
		word := func(id *ast.Ident) bool { return slices.Contains(functionWords, id.Name) }
		fields := func(list *ast.FieldList) {
			if list == nil {
				return
			}
			for _, field := range list.List {
				for _, id := range field.Names {
					variables.add(word(id))
				}
			}
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				functions.add(word(n.Name))
				fields(n.Recv)
			case *ast.FuncType:
				fields(n.Params)
				fields(n.Results)
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok && n.Tok.String() == ":=" {
						variables.add(word(id))
					}
				}
			case *ast.RangeStmt:
				for _, x := range []ast.Expr{n.Key, n.Value} {
					if id, ok := x.(*ast.Ident); ok && n.Tok.String() == ":=" {
						variables.add(word(id))
					}
				}
			case *ast.ValueSpec:
				for _, id := range n.Names {
					variables.add(word(id))
				}
			}
			return true
		})
	}
	return variables, functions
}

// TestNames bounds the parameters, variables and functions that are named by a word of grammar, among a thousand. The
// bounds may only become smaller; other Go projects have 2 to 10 variables.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		test                 bool
		variables, functions float64
	}{{false, 43, 16.8}, {true, 27.3, 8}} {
		variables, functions := names(sources(t), c.test)
		if got := variables.perThousand(); !(got <= c.variables) {
			t.Errorf("tests %t: got %.1f variables of a thousand with a word of grammar, %d of %d, want at most %g",
				c.test, got, variables.found, variables.total, c.variables)
		}
		if got := functions.perThousand(); !(got <= c.functions) {
			t.Errorf("tests %t: got %.1f functions of a thousand with a word of grammar, %d of %d, want at most %g",
				c.test, got, functions.found, functions.total, c.functions)
		}
	}
}
