// Package index reads the numbered equations of the five papers from the module's sources, with the tests and the
// formulas by hand that check them. Start with Read.
package index

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pedestrian-ml/pedestrian/verify/equation"
	"github.com/pkg/errors"
)

// Root returns the directory of this module that contains the working directory.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", errors.Wrap(err, "index")
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := file.Read(filepath.Join(dir, "go.mod"), 1<<20)
		if err == nil && bytes.HasPrefix(text, []byte("module github.com/pedestrian-ml/pedestrian\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.Errorf("the sources of Pedestrian are not in %s or above", start)
		}
	}
}

// Read returns the index of the module in a directory: the statements come from the tests, and the distances and the
// formulas without which a test fails come from INDEX.md.
func Read(root string) (x equation.Index, err error) {
	module := file.Directory(root)
	text, err := fs.ReadFile(module, "verify/INDEX.md")
	if err != nil {
		return x, errors.Wrap(err, "index")
	}
	if x.Marks, err = marks(module); err != nil {
		return x, err
	}
	if x.Formulas, err = formulas(module); err != nil {
		return x, err
	}
	written := map[string][]string{}
	for _, row := range row.FindAllStringSubmatch(string(text), -1) {
		written[row[2]] = row
	}
	for _, s := range sources() {
		p, err := s.read(module, written)
		if err != nil {
			return x, err
		}
		x.Papers = append(x.Papers, p)
	}
	return x, x.Check()
}

var row = regexp.MustCompile(`(?m)\| ([^|]+) \| (Test\w+) \| ([^|]*) \| \d \|$`)

// read returns the equations of a paper, with the measured cells of its rows in INDEX.md.
func (s source) read(module fs.FS, written map[string][]string) (p equation.Paper, err error) {
	files := token.NewFileSet()
	tests := map[string]*ast.FuncDecl{}
	parsed, err := parse(files, module, "verify/internal/papers/"+s.files)
	if err != nil {
		return p, err
	}
	for _, file := range parsed {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				tests[f.Name.Name] = f
			}
		}
	}
	p.Title = s.title
	for i := 1; i <= s.equations; i++ {
		e := equation.Equation{Number: i, States: s.unchecked[i]}
		name := fmt.Sprintf("%s%02d", s.test, i)
		f, tested := tests[name]
		if tested == (e.States != "") {
			return p, errors.Errorf("index: %s: is there: %t, and listed as without a test: %t", name, tested, tested)
		}
		if tested {
			e.Test, e.States, e.Place = name, states(f.Doc.Text()), place(files, f.Pos())
			if e.States == "" {
				return p, errors.Errorf("index: %s: no comment that says what (%d) states", name, i)
			}
		}
		if cells := written[name]; cells != nil {
			e.Distance = cells[3]
			if by := strings.Split(cells[1], ", "); by[0] != "identity" && by[0] != "definition" {
				e.Formulas = by
			}
		}
		p.Equations = append(p.Equations, e)
	}
	return p, nil
}

var leadingNumber = regexp.MustCompile(`^\(\d+[^)]*\)[.:]?\s*`)

// states returns the first sentence of a comment, without the number that it begins with.
func states(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = leadingNumber.ReplaceAllString(text, "")
	for i := range text {
		if rest := text[i:]; strings.HasPrefix(rest, ". ") || rest == "." {
			return text[:i]
		}
	}
	return text
}

// marks returns the kinds of evidence that TRUST.md defines.
func marks(module fs.FS) (list []string, err error) {
	text, err := fs.ReadFile(module, "TRUST.md")
	if err != nil {
		return nil, errors.Wrap(err, "index")
	}
	for _, m := range regexp.MustCompile(`(?m)^\| ([1-9]) \| ([^|]+) \|`).FindAllStringSubmatch(string(text), -1) {
		if list = append(list, m[2]); m[1] != fmt.Sprint(len(list)) {
			return nil, errors.Errorf("TRUST.md: got mark %s, want %d", m[1], len(list))
		}
	}
	return list, nil
}
