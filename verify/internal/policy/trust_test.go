package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClaimsHaveMarks checks that the last cell of every row of PROMISES.md, INDEX.md and the figures of the README is
// a mark that TRUST.md defines, and that the figures in the text of the README have one too.
func TestClaimsHaveMarks(t *testing.T) {
	defined := map[string]bool{}
	for _, row := range rows(document(t, "TRUST.md")) {
		if m := regexp.MustCompile(`^\| ([1-6]) \|`).FindStringSubmatch(row); m != nil {
			defined[m[1]] = true
		}
	}
	if len(defined) != 6 {
		t.Errorf("TRUST.md: got %d marks, want 6", len(defined))
	}
	for name, least := range map[string]int{"PROMISES.md": 30, "verify/INDEX.md": 237, "README.md": 5} {
		list := rows(document(t, name))
		for _, row := range list {
			if !marked(row, defined) {
				t.Errorf("%s: got a row whose last cell is not a mark of TRUST.md: %s", name, row)
			}
		}
		if len(list) < least {
			t.Errorf("%s: got %d rows, want at least %d", name, len(list), least)
		}
	}
	figure := regexp.MustCompile(`\d\.\de-\d|\d (ms|s|MiB|GiB)\b|\d %|\d ×|minute`)
	code := false
	for line := range strings.Lines(document(t, "README.md")) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if !code && !strings.HasPrefix(line, "|") && figure.MatchString(line) && !strings.Contains(line, "TRUST.md") {
			t.Errorf("README.md: got a figure without a mark of TRUST.md: %s", line)
		}
	}
}

// marked reports whether the last cell of a row lists defined marks.
func marked(row string, defined map[string]bool) bool {
	cells := strings.Split(strings.TrimSuffix(row, " |"), "|")
	for _, mark := range strings.Split(strings.TrimSpace(cells[len(cells)-1]), ", ") {
		if !defined[mark] {
			return false
		}
	}
	return true
}

// rows returns the rows of the tables in a document, without their heads.
func rows(text string) (list []string) {
	body := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|---"):
			body = true
		case !strings.HasPrefix(line, "|"):
			body = false
		case body:
			list = append(list, line)
		}
	}
	return list
}

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var proved = regexp.MustCompile(`(?i)\b(prov(e|es|ed|en|ing|able)|proofs?)\b`)

// TestProvedMeansMarkOne checks that documents and comments use the word "proved" and its forms only beside "mark 1".
// TRUST.md defines it.
func TestProvedMeansMarkOne(t *testing.T) {
	read := 0
	check := func(path, paragraph string) {
		read++
		if found := proved.FindString(paragraph); found != "" &&
			!strings.Contains(strings.Join(strings.Fields(paragraph), " "), "mark 1") {
			t.Errorf("%s: got %q without mark 1, want another word: TRUST.md defines it", path, found)
		}
	}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata":
			return fs.SkipDir
		case filepath.Ext(path) != ".md" || path == "TRUST.md":
			return nil
		}
		for paragraph := range strings.Lines(document(t, path)) {
			check(path, paragraph)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sources(t) {
		for _, group := range f.syntax.Comments {
			if f.path != "verify/internal/policy/trust_test.go" {
				check(positions.Position(group.Pos()).String(), group.Text())
			}
		}
	}
	if read < 1000 {
		t.Errorf("got %d paragraphs and comments, want more", read)
	}
}
