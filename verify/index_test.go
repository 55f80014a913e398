package verify

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var rewrite = flag.Bool("update", false, "write INDEX.md anew, together with -run 'Eq|TestIndex'")

// measured is the worst distance that each test of an equation has recorded.
var measured = struct {
	sync.Mutex
	by map[string]float64
}{by: map[string]float64{}}

// record notes how far a test found two sides of its equation apart.
func record(t *testing.T, distance float64) {
	name, _, _ := strings.Cut(t.Name(), "/")
	measured.Lock()
	defer measured.Unlock()
	if before, ok := measured.by[name]; !ok || !(distance <= before) {
		measured.by[name] = distance
	}
}

const indexHead = `# Index

Where the equations of the five papers are: what each states, the functions by hand that embody it, the test that is named
after it, and the worst distance that the test has measured between the two sides (1e-12 fails; none where the test
compares no matrices). An equation that states nothing to check has the reason instead. Written by

	go test ./verify -run 'Eq|TestIndex' -update
`

// paper is one of the five, with the number of its equations, the start of its tests' names, and the equations that have
// no test, with the reason.
type paper struct {
	title, test, files string
	equations          int
	unchecked          map[int]string
}

func papers() []paper {
	return []paper{
		{"L. Boué, Deep learning for pedestrians: backpropagation in Transformers", "TestBoueEq", "boue_*_test.go", 55, nil},
		{"R. Xu, Transformer with PyTorch", "TestXuEq", "xu_*_test.go", 84, xuUnchecked()},
		{"E. Conti, The Math behind transformers", "TestContiEq", "conti_*_test.go", 23, contiUnchecked()},
		{"S. Diab, The GPT Transformer: A Complete Mathematical and Architectural Analysis", "TestDiabEq", "diab_*_test.go", 39, nil},
		{"CS 224n, Note 10: Self-Attention & Transformers", "TestNoteEq", "note_*_test.go", 36, noteUnchecked()},
	}
}

// INDEX.md is current, apart from the measured distances, and none of these is too large.
func TestIndex(t *testing.T) {
	t.Parallel() // to be run when the tests of the equations have been
	old, err := os.ReadFile("INDEX.md")
	if err != nil && !*rewrite {
		t.Fatal(err)
	}
	before := distances(t, string(old))
	var b strings.Builder
	b.WriteString(indexHead)
	hand := parsed(t, append(handFiles(), "adamw.go", "mlp.go")...) // with Boué's numbers
	every := parsed(t, formulas(t)...)
	rows := 0
	for _, p := range papers() {
		fmt.Fprintf(&b, "\n## %s\n\n| | states | by hand | test | distance |\n|---|---|---|---|---|\n", p.title)
		files, err := filepath.Glob(p.files)
		if err != nil {
			t.Fatal(err)
		}
		tests := parsed(t, files...)
		for i := 1; i <= p.equations; i++ {
			rows++
			name := fmt.Sprintf("%s%02d", p.test, i)
			f, ok := tests.functions[name]
			reason, unchecked := p.unchecked[i]
			switch {
			case ok == unchecked:
				t.Errorf("%s: is there: %t, and listed as without a test: %t", name, ok, unchecked)
				continue
			case unchecked:
				fmt.Fprintf(&b, "| (%d) | %s | – | – | |\n", i, reason)
				continue
			case states(f) == "":
				t.Errorf("%s: no comment that says what (%d) states", name, i)
			}
			by := hand.citing(i)
			if p.test != "TestBoueEq" {
				by = tests.using(name, every)
			} else if len(by) == 0 {
				by = tests.using(name, every)
			}
			distance, ok := measured.by[name]
			if !ok {
				distance, ok = before[name]
			}
			cell := ""
			if ok {
				cell = strings.TrimSuffix(fmt.Sprintf("%.0e", distance), "e+00")
			}
			if ok && !(distance <= Suspicion) {
				t.Errorf("%s: got distance %.1e, want ≤ %.0e", name, distance, Suspicion)
			}
			fmt.Fprintf(&b, "| (%d) | %s | %s | %s | %s |\n", i, states(f), cmp.Or(strings.Join(by, ", "), "–"), name, cell)
		}
	}
	if rows != 55+84+23+39+36 {
		t.Errorf("got %d rows, want 237", rows)
	}
	if *rewrite {
		if err := os.WriteFile("INDEX.md", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := blanked(string(old)), blanked(b.String()); got != want {
		got, want := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("INDEX.md, line %d, is not current:\ngot  %s\nwant %s", i+1, got[i], want[i])
			}
		}
		t.Fatalf("INDEX.md: got %d lines, want %d", len(got), len(want))
	}
	if len(before) < 180 {
		t.Errorf("INDEX.md has %d distances, want at least 180", len(before))
	}
}

// formulas are the sources with formulas by hand: those that need the standard library only, and are not what all of them
// compute with.
func formulas(t *testing.T) (list []string) {
	t.Helper()
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		outside := func(s *ast.ImportSpec) bool { return strings.Contains(s.Path.Value, ".") }
		common := slices.Contains([]string{"cases.go", "complexstep.go", "fixture.go", "fixture_variants.go", "inventory.go", "matrix.go", "metric.go"}, name)
		if !common && !strings.HasSuffix(name, "_test.go") && !slices.ContainsFunc(file.Imports, outside) {
			list = append(list, name)
		}
	}
	return list
}

var lastCell = regexp.MustCompile(`(?m)\| (Test\w+) \| ([^|]*) \|$`)

// distances reads those of an index.
func distances(t *testing.T, index string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, row := range lastCell.FindAllStringSubmatch(index, -1) {
		if row[2] == "" {
			continue
		}
		d, err := strconv.ParseFloat(row[2], 64)
		if err != nil || math.IsNaN(d) {
			t.Errorf("INDEX.md: %s: got distance %q", row[1], row[2])
		}
		out[row[1]] = d
	}
	return out
}

// blanked is the index without the measured distances.
func blanked(index string) string { return lastCell.ReplaceAllString(index, "| $1 | |") }

// code are the functions of some files by name, nil where two share one, and the lines of comment in and above them.
type code struct {
	functions map[string]*ast.FuncDecl
	comments  map[string]string
}

func parsed(t *testing.T, files ...string) code {
	t.Helper()
	c := code{map[string]*ast.FuncDecl{}, map[string]string{}}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				_, twice := c.functions[d.Name.Name] // methods of two types
				if c.functions[d.Name.Name] = d; twice {
					c.functions[d.Name.Name] = nil
				}
				c.comments[d.Name.Name] = d.Doc.Text()
				for _, g := range file.Comments {
					for _, line := range g.List {
						if d.Body.Pos() <= line.Pos() && line.Pos() < d.Body.End() {
							c.comments[d.Name.Name] += "\n" + line.Text
						}
					}
				}
			case *ast.GenDecl:
				if d.Tok == token.TYPE {
					c.comments[d.Specs[0].(*ast.TypeSpec).Name.Name] = d.Doc.Text()
				}
			}
		}
	}
	return c
}

// citing are the functions and types whose comments have the number of an equation and name no author, which means Boué's.
func (c code) citing(equation int) (list []string) {
	number := regexp.MustCompile(fmt.Sprintf(`\(%d(\.[a-z])?\)`, equation))
	others := regexp.MustCompile(`\b(Xu|Conti|Diab|CS 224n)\b`)
	for _, name := range slices.Sorted(maps.Keys(c.comments)) {
		if number.MatchString(c.comments[name]) && !others.MatchString(c.comments[name]) {
			list = append(list, name)
		}
	}
	return list
}

// using are the functions of other, methods apart, that a test names, itself or through its helpers; what prepares the
// data of every test, a new…, does not count.
func (c code) using(name string, other code) (list []string) {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		f, ok := c.functions[name]
		if seen[name] || !ok || f == nil || strings.HasPrefix(name, "new") {
			return
		}
		seen[name] = true
		ast.Inspect(f.Body, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if f := other.functions[id.Name]; f != nil && f.Recv == nil && id.IsExported() && !slices.Contains(list, id.Name) {
					list = append(list, id.Name)
				}
				visit(id.Name)
			}
			return true
		})
	}
	visit(name)
	slices.Sort(list)
	return list
}

var leadingNumber = regexp.MustCompile(`^\(\d+[^)]*\)[.:]?\s*`)

// states is the first sentence of a test's comment, without the number that it begins with.
func states(f *ast.FuncDecl) string {
	text := strings.Join(strings.Fields(f.Doc.Text()), " ")
	text = leadingNumber.ReplaceAllString(text, "")
	for i := range text {
		if rest := text[i:]; strings.HasPrefix(rest, ". ") || rest == "." {
			text = text[:i]
			break
		}
	}
	return strings.ReplaceAll(text, "|", `\|`)
}
