package papers

import (
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
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"golang.org/x/sys/cpu"
)

var rewrite = flag.Bool("update", false, "write INDEX.md again, together with -run 'Eq|TestIndex'")

// measured holds the largest distance that each test of an equation has recorded, and the formulas by hand without
// which it fails, nil if TestByHand did not run.
var measured = struct {
	sync.Mutex
	by       map[string]float64
	formulas map[string][]string
}{by: map[string]float64{}}

// record records the distance that a test measured between two sides of its equation.
func record(t *testing.T, distance float64) {
	name, _, _ := strings.Cut(t.Name(), "/")
	measured.Lock()
	defer measured.Unlock()
	if before, ok := measured.by[name]; !ok || !(distance <= before) {
		measured.by[name] = distance
	}
}

const indexHead = `# Index

This file lists the equations of the five papers: the statement of each, the formulas by hand that its test checks, the
test named after it, the largest distance between the two sides that the test measures (1e-12 fails), and the mark of
[TRUST.md](../TRUST.md). Xu's (18), about shapes, and Conti's (18), about probabilities, have a test but no distance.
Five equations only name something; they have the reason instead. The distances are those of float64 on amd64.

The column "by hand" is measured: its formulas are those without which the test fails, each scaled by 1.01 where the
test calls it. Where no formula is listed, "identity" means that the test compares two sides of the paper's own
algebra, or a formula with itself at other arguments, and "definition" that it compares a definition with itself. A
distance of 0 has one of three reasons:

- "moved": both sides only move numbers, or multiply them by 0 and 1.
- "same order": both sides do the same operations in the same order, or too few to be rounded differently.
- "exact": the statement is about zeros, ones or equal bits.

This file is written by

	NIGHTLY=1 go test ./verify/internal/papers -run 'Eq|TestIndex|TestByHand' -update
`

// The entries of the column "by hand" for a test that checks no formula.
const (
	isIdentity   = "identity"
	isDefinition = "definition"
)

const indexFile = "../../INDEX.md"

// paper is one of the five papers, with the number of its equations, the start of its tests' names, and the equations
// that have no test, with the reason.
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

// INDEX.md is current, and none of its distances is too large. They are compared digit by digit on processors that
// compute the same bits as the one that INDEX.md was written on, and by their order of magnitude on other processors.
func TestIndex(t *testing.T) {
	t.Parallel() // to be run when the tests of the equations have been
	old := readIndex(t)
	before, formulas := distances(t, old), measured.formulas
	checkDistances(t, before)
	if formulas == nil {
		formulas = writtenFormulas(t, old)
	}
	var b strings.Builder
	b.WriteString(indexHead)
	rows := 0
	for _, p := range papers() {
		fmt.Fprintf(&b, "\n## %s\n\n| | states | by hand | test | distance | mark |\n|---|---|---|---|---|---|\n", p.title)
		files, err := filepath.Glob(p.files)
		if err != nil {
			t.Fatal(err)
		}
		tests := parsed(t, files)
		for i := 1; i <= p.equations; i++ {
			rows++
			name := fmt.Sprintf("%s%02d", p.test, i)
			f, ok := tests[name]
			reason, unchecked := p.unchecked[i]
			switch {
			case ok == unchecked:
				t.Errorf("%s: is there: %t, and listed as without a test: %t", name, ok, unchecked)
				continue
			case unchecked:
				fmt.Fprintf(&b, "| (%d) | %s | – | – | | 6 |\n", i, reason)
				continue
			case states(f) == "":
				t.Errorf("%s: no comment that says what (%d) states", name, i)
			}
			by := formulasCell(name, formulas[name])
			distance, ok := measured.by[name]
			if !ok {
				distance, ok = before[name]
			}
			cell, mark := "", 4
			if ok {
				cell, mark = withReason(t, name, distance), 2
			} else if name != "TestXuEq18" && name != "TestContiEq18" {
				t.Errorf("%s: got no distance in INDEX.md and none measured, want one", name)
			}
			if ok && !(distance <= verify.Suspicion) {
				t.Errorf("%s: got distance %.1e, want ≤ %.0e", name, distance, verify.Suspicion)
			}
			if by == isDefinition {
				mark = 6
			}
			fmt.Fprintf(&b, "| (%d) | %s | %s | %s | %s | %d |\n", i, states(f), by, name, cell, mark)
		}
	}
	if rows != 55+84+23+39+36 {
		t.Errorf("got %d rows, want 237", rows)
	}
	checkReadme(t, b.String())
	if *rewrite {
		if err := os.WriteFile(indexFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := blanked(old), blanked(b.String()); got != want {
		got, want := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("INDEX.md, line %d, is not current:\ngot  %s\nwant %s", i+1, got[i], want[i])
			}
		}
		t.Fatalf("INDEX.md: got %d lines, want %d", len(got), len(want))
	}
}

func readIndex(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(indexFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// formulasCell returns the entry of the column "by hand" for a test and the formulas without which it fails.
func formulasCell(test string, formulas []string) string {
	switch {
	case len(formulas) > 0:
		return strings.Join(formulas, ", ")
	case slices.Contains(definitions(), test):
		return isDefinition
	}
	return isIdentity
}

// checkReadme requires the counts of equations with a test, with a distance and with a formula by hand in the README.
func checkReadme(t *testing.T, index string) {
	t.Helper()
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, distances := strings.Count(index, "| Test"), 0
	for _, row := range lastCell.FindAllStringSubmatch(index, -1) {
		if row[2] != "" {
			distances++
		}
	}
	formulas := tests - strings.Count(index, "| "+isIdentity+" |") - strings.Count(index, "| "+isDefinition+" |")
	const counts = "the 237 numbered equations of five papers: %d have a test, %d of them with its measured error, %d fail if " +
		"a formula by hand is scaled by 1.01, and %d only name something"
	if want := fmt.Sprintf(counts, tests, distances, formulas, 237-tests); !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q", want)
	}
}

// digits returns a distance in the format of INDEX.md.
func digits(distance float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.0e", distance), "e+00")
}

// checkDistances compares the distances of INDEX.md with those that were measured; tests that did not run have none.
func checkDistances(t *testing.T, written map[string]float64) {
	t.Helper()
	measured.Lock()
	defer measured.Unlock()
	if *rewrite {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(measured.by)) {
		got, want := measured.by[name], written[name]
		if _, indexed := written[name]; equation.MatchString(name) && (!indexed || stale(got, want, sameBits())) {
			t.Errorf("INDEX.md: %s: got distance %s, measured %s", name, digits(want), digits(got))
		}
	}
}

var equation = regexp.MustCompile(`^Test(Boue|Xu|Conti|Diab|Note)Eq\d+$`)

// stale reports whether a measured distance differs from the written one: in its digit or, on processors with other
// bits, by more than a factor of 30.
func stale(measured, written float64, sameBits bool) bool {
	if sameBits {
		return digits(measured) != digits(written)
	}
	const unit = 1e-16
	ratio := max(measured, unit) / max(written, unit)
	return !(ratio <= 30 && ratio >= 1./30)
}

// sameBits reports whether this build and processor compute the same bits as those that wrote INDEX.md: amd64, with
// fused multiply-adds in package math and none that the compiler makes.
func sameBits() bool {
	info, ok := debug.ReadBuildInfo()
	if !ok || runtime.GOARCH != "amd64" || !cpu.X86.HasFMA || !cpu.X86.HasAVX {
		return false
	}
	for _, s := range info.Settings {
		if s.Key == "GOAMD64" && s.Value != "v1" && s.Value != "v2" {
			return false
		}
		if s.Key == "-tags" && s.Value != "" {
			return false
		}
	}
	return true
}

func TestStale(t *testing.T) {
	for _, test := range []struct {
		measured, written float64
		same, apart       bool // whether it is stale with the same bits, and with others
	}{
		{0, 0, false, false}, {2e-16, 2e-16, false, false}, {2.4e-16, 2e-16, false, false}, {2e-16, 3e-16, true, false},
		{0, 1e-16, true, false}, {4e-16, 4e-15, true, false}, {1e-16, 1e-13, true, true}, {1e-13, 1e-16, true, true},
		{math.NaN(), 1e-16, true, true},
	} {
		if got := stale(test.measured, test.written, true); got != test.same {
			t.Errorf("measured %v, written %v, the same bits: got stale %t, want %t", test.measured, test.written, got, test.same)
		}
		if got := stale(test.measured, test.written, false); got != test.apart {
			t.Errorf("measured %v, written %v, other bits: got stale %t, want %t", test.measured, test.written, got, test.apart)
		}
	}
}

// formulas returns the sources of verify/hand, without those that all formulas share.
func formulas(t *testing.T) (list []string) {
	t.Helper()
	sources, err := filepath.Glob("../../hand/*.go")
	if err != nil {
		t.Fatal(err)
	}
	common := []string{"arithmetic.go", "function.go", "layer.go", "matrix.go", "site.go"}
	return slices.DeleteFunc(sources, func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || slices.Contains(common, filepath.Base(path))
	})
}

var lastCell = regexp.MustCompile(`(?m)\| (Test\w+) \| ([^|]*) \| \d \|$`)

// distances returns the distances in an index.
func distances(t *testing.T, index string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, row := range lastCell.FindAllStringSubmatch(index, -1) {
		if row[2] == "" {
			continue
		}
		number, reason, _ := strings.Cut(row[2], ", ")
		d, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(d) || !*rewrite && reason != zeroReasons()[row[1]] && (d == 0 || reason != "") {
			t.Errorf("INDEX.md: %s: got distance %q, want a number, or 0 with its reason", row[1], row[2])
		}
		out[row[1]] = d
	}
	return out
}

// blanked returns the index without the measured distances.
func blanked(index string) string { return lastCell.ReplaceAllString(index, "| $1 | |") }

// declarations calls f for every function and method of the files. The name of a method includes its type.
func declarations(t *testing.T, files []string, f func(name string, decl *ast.FuncDecl)) {
	t.Helper()
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				name := d.Name.Name
				if d.Recv != nil {
					name = receiver(d.Recv.List[0].Type) + "." + name
				}
				f(name, d)
			}
		}
	}
}

func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	}
	return ""
}

// parsed returns the functions and methods of the files by name.
func parsed(t *testing.T, files []string) map[string]*ast.FuncDecl {
	t.Helper()
	out := map[string]*ast.FuncDecl{}
	declarations(t, files, func(name string, f *ast.FuncDecl) { out[name] = f })
	return out
}

var leadingNumber = regexp.MustCompile(`^\(\d+[^)]*\)[.:]?\s*`)

// states returns the first sentence of a test's comment, without the number that it begins with.
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
