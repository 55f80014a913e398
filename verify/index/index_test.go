package index

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/equation"
)

// A formula calls what its source calls, and what functions that are no formulas call for it.
func TestCalls(t *testing.T) {
	x, err := Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ from, to string }{
		{"Attention.Forward", "Attention.Weights"}, {"Cache.Attend", "Attention.Forward"},
		{"Residual.Forward", "Layer.Forward"},
		{"Heads.Forward", "Head.Forward"}, {"Model.Logits", "Stack.Forward"}, {"Mixtures.Forward", "Attention.Forward"},
	} {
		i := slices.IndexFunc(x.Formulas, func(f equation.Formula) bool { return f.Name == test.from })
		if i < 0 || !slices.Contains(x.Formulas[i].Calls, test.to) {
			t.Errorf("got no call of %s in %s", test.to, test.from)
		}
	}
	for _, f := range x.Formulas {
		if !strings.Contains(f.Source, "func ") {
			t.Errorf("%s: got the source %q", f.Name, f.Source)
		}
		if slices.Contains(f.Calls, f.Name) || strings.Contains(strings.Join(f.Calls, " "), "Matrix.") {
			t.Errorf("%s: got the calls %v, want neither itself nor operations of matrices", f.Name, f.Calls)
		}
	}
}

// A module without an index, a test or a formula is refused by name.
func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(want string) {
		t.Helper()
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	refused("INDEX.md")
	write("verify/INDEX.md", "| (2) | x | Absent.Forward | TestBoueEq02 | 1e-16 | 2 |\n")
	refused("TRUST.md")
	write("TRUST.md", "| 2 | agreement | nothing |\n")
	refused("got mark 2, want 1")
	write("TRUST.md", "| 1 | exact | nothing |\n")
	refused("no file verify/hand/*.go")
	write("verify/hand/a.go", "package hand\n")
	refused("no file verify/internal/papers/boue_*_test.go")
	write("verify/internal/papers/boue_test.go", "package papers\n")
	write("verify/internal/papers/boue_a_test.go", "package papers\n\nfunc TestBoueEq01() {}\n")
	refused("TestBoueEq01: no comment that says what (1) states")
	write("verify/internal/papers/boue_a_test.go", "package papers\n\n// (1) States.\nfunc TestBoueEq01() {}\n")
	refused("TestBoueEq02: is there: false, and listed as without a test: false")
}

// An equation that names an unknown formula is refused.
func TestUnknownFormula(t *testing.T) {
	e := equation.Equation{Test: "TestBoueEq01", Formulas: []string{"Absent.Forward"}}
	x := equation.Index{Papers: []equation.Paper{{Equations: []equation.Equation{e}}}}
	if err := x.Check(); err == nil || !strings.Contains(err.Error(), "TestBoueEq01 names Absent.Forward") {
		t.Errorf("got %v, want both names", err)
	}
}

// The first sentence of a comment ends with its full stop.
func TestStates(t *testing.T) {
	for comment, want := range map[string]string{
		"(30.a–b) Δ is 1.5 or\nmore. It is.\n": "Δ is 1.5 or more", "(2): All.\n": "All", "": "",
	} {
		if got := states(comment); got != want {
			t.Errorf("%q: got %q, want %q", comment, got, want)
		}
	}
}
