package papers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// erratum is a row of ERRATA.md: its id, its class, and its last cell, the tests.
type erratum struct{ id, class, shown string }

func errata(t *testing.T) []erratum {
	t.Helper()
	row := regexp.MustCompile(`^\| *([A-Z]\d+[a-z]?) *\|`)
	var out []erratum
	for line := range strings.Lines(errataText(t)) {
		if !row.MatchString(line) {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 1+6+1 {
			t.Fatalf("got %d cells, want 6: %s", len(cells)-2, line)
		}
		out = append(out, erratum{strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), cells[6]})
	}
	if len(out) == 0 {
		t.Fatal("no rows in ERRATA.md")
	}
	return out
}

func errataText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../ERRATA.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Ids are unique, the class is one of the legend, which has the number of its rows, and a row names a test or contains
// "no test".
func TestErrataRows(t *testing.T) {
	seen, rows := map[string]bool{}, map[string]int{}
	for _, e := range errata(t) {
		rows[e.class]++
		if seen[e.id] {
			t.Errorf("two rows have the id %s", e.id)
		}
		seen[e.id] = true
		switch e.class {
		case "A", "b", "c", "right":
		default:
			t.Errorf("%s: got class %q, want A, b, c or right", e.id, e.class)
		}
		if len(testNames(e.shown)) == 0 && !strings.Contains(e.shown, "no test") {
			t.Errorf("%s names no test and does not say so: %s", e.id, e.shown)
		}
	}
	legend := regexp.MustCompile(`(?m)^\| (\w+) \| [^|]+ \| (\d+) \|$`).FindAllStringSubmatch(errataText(t), -1)
	if len(legend) != 4 {
		t.Errorf("got %d classes in the legend, want 4", len(legend))
	}
	for _, m := range legend {
		if want := fmt.Sprint(rows[m[1]]); m[2] != want {
			t.Errorf("class %s: got %s rows in the legend, want %s", m[1], m[2], want)
		}
	}
}

// testNames returns the tests that a text mentions, with their package if it is not this one.
func testNames(text string) []string {
	return regexp.MustCompile(`\b(?:\w+\.)?Test[A-Z]\w*`).FindAllString(text, -1)
}

// testSources returns the tests of the packages that ERRATA.md mentions, with their comments, by the names of
// testNames.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for prefix, dir := range map[string]string{"": ".", "nn.": "../../../nn", "gpt.": "../../../gpt"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
					source := text[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset]
					out[prefix+f.Name.Name] = f.Doc.Text() + string(source)
				}
			}
		}
	}
	return out
}

// Every test that ERRATA.md mentions exists.
func TestErrataNamesTests(t *testing.T) {
	sources := testSources(t)
	for _, name := range testNames(errataText(t)) {
		if _, ok := sources[name]; !ok {
			t.Errorf("ERRATA.md names %s, which does not exist", name)
		}
	}
}

// Every decimal amount of a row occurs in one of the row's tests, so that both must be changed together.
func TestErrataAmounts(t *testing.T) {
	sources, amounts, checked := testSources(t), regexp.MustCompile(`\d+\.\d+(?:e-\d+)?`), 0
	for _, e := range errata(t) {
		stated := map[string]bool{}
		for _, name := range testNames(e.shown) {
			for _, number := range amounts.FindAllString(sources[name], -1) {
				stated[number] = true
			}
		}
		for _, amount := range amounts.FindAllString(e.shown, -1) {
			if checked++; !stated[amount] {
				t.Errorf("%s: %s is in none of %v", e.id, amount, testNames(e.shown))
			}
		}
	}
	if checked < 30 {
		t.Errorf("found %d amounts, want more", checked)
	}
}

// Every erratum that a Go file of the repository refers to has its row.
func TestErrataAreListed(t *testing.T) {
	listed, refers := map[string]bool{}, map[string]bool{}
	for _, e := range errata(t) {
		listed[e.id] = true
	}
	nextLine := regexp.MustCompile(`\s*\n\s*//\s*`) // a comment may break after the word
	mention := regexp.MustCompile(`(?i)\berrat(?:um|a)\s+([A-Z]\d+[a-z]?(?:(?:\s*,\s*|\s+and\s+)[A-Z]\d+[a-z]?)*)`)
	id := regexp.MustCompile(`[A-Z]\d+[a-z]?`)
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && name != ".." && strings.HasPrefix(name, ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "rrat") {
			return err
		}
		for _, m := range mention.FindAllStringSubmatch(nextLine.ReplaceAllString(string(text), " "), -1) {
			for _, name := range id.FindAllString(m[1], -1) {
				if refers[name] = true; !listed[name] {
					t.Errorf("%s refers to %q, which ERRATA.md does not list", path, m[0])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"B1", "D7", "D10", "X9"} { // D7 after a line break, D10 and X9 in other packages
		if !refers[name] {
			t.Errorf("found no reference to %s", name)
		}
	}
}
