package policy

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// marks are turns of phrase that a reader stumbles over. Comments say instead what a thing is, returns or holds.
var marks = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(is|are) what\b`),
	regexp.MustCompile(`(?i)\bof what\b`),
	regexp.MustCompile(`(?i)\b(so|that) many\b`),
	regexp.MustCompile(`(?i)\bwhat an? [a-z]+ (is|has|does|makes|reads|takes|needs)\b`),
	regexp.MustCompile(`(?i)\bis none of\b`),
	regexp.MustCompile(`\b(Of|In) an? [a-z ]+,? (it|they) (is|are)\b`),
}

// mark returns the first turn of phrase in text that a reader stumbles over, "" if there is none.
func mark(text string) string {
	for _, m := range marks {
		if found := m.FindString(text); found != "" {
			return found
		}
	}
	return ""
}

// TestComments checks that comments are plain English.
func TestComments(t *testing.T) {
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		for _, group := range f.syntax.Comments {
			if found := mark(strings.Join(strings.Fields(group.Text()), " ")); found != "" {
				t.Errorf("%s: got a comment with %q, want plain English", positions.Position(group.Pos()), found)
			}
		}
	}
}

// TestDocComments checks that the doc comment of a function or a type begins with its name.
func TestDocComments(t *testing.T) {
	check := func(name *ast.Ident, doc *ast.CommentGroup) {
		if text := doc.Text(); text != "" && !begins(text, name.Name) {
			first, _, _ := strings.Cut(text, "\n")
			t.Errorf(
				"%s: got the comment %q, want it to begin with %s", positions.Position(name.Pos()), first, name.Name,
			)
		}
	}
	for _, f := range sources(t) {
		if f.test || ast.IsGenerated(f.syntax) {
			continue
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Name, d.Doc)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && len(d.Specs) == 1 {
						check(s.Name, d.Doc)
					}
				}
			}
		}
	}
}

// begins reports whether a doc comment begins with a name, possibly behind an article as in "An Expr is".
func begins(text, name string) bool {
	text = strings.TrimPrefix(text, "Deprecated: ")
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	after, ok := strings.CutPrefix(text, name)
	return ok && (after == "" || !regexp.MustCompile(`^\w`).MatchString(after))
}

// TestWidth checks that no line of code is wider than 120 columns, with a tab for four. A string in backquotes
// and the output of an Example may be.
func TestWidth(t *testing.T) {
	for _, f := range sources(t) {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		number, quoted, output := 0, false, false
		for line := range strings.Lines(f.text) {
			number++
			quotes, text := strings.Count(line, "`"), strings.TrimSpace(line)
			output = strings.HasPrefix(text, "// Output:") || output && strings.HasPrefix(text, "//")
			excepted := quoted || quotes > 0 || output
			quoted = quoted != (quotes%2 == 1)
			if n := columns(strings.TrimSuffix(line, "\n")); n > 120 && !excepted {
				t.Errorf("%s:%d: got %d columns, want at most 120", f.path, number, n)
			}
		}
	}
}

// columns returns the width of a line whose tabs end at multiples of four columns.
func columns(line string) (n int) {
	for _, r := range line {
		if n++; r == '\t' {
			n = (n + 3) / 4 * 4
		}
	}
	return n
}

// A mark in a text is found, and plain English is not.
func TestMark(t *testing.T) {
	for text, want := range map[string]string{
		"rows is what the table has":                  "is what",
		"Fit fails unless they are so many numbers":   "so many",
		"Of a Config that is wrong, it is the count":  "",
		"In a graph, it is 0":                         "In a graph, it is",
		"parameterBytes is the memory of what stays":  "of what",
		"skips reports whether a tensor is a buffer":  "",
		"Fit returns an error if the numbers differ":  "",
		"matches reports whether it is none of these": "is none of",
	} {
		if got := mark(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
