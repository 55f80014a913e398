package cases

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

const tolerance32 = 2e-5 // of the kernels in float32

// Every layer's gradients by hand agree with the other roads. Without the formulas, autodiff agrees with central
// differences. The complex step and central differences take an entry or two of every row, and all with NIGHTLY=1.
func TestCases(t *testing.T) {
	nightly := os.Getenv("NIGHTLY") != ""
	for i, c := range All() {
		t.Run(c.Name, func(t *testing.T) {
			r := tried(t, c, nightly)
			if !(r.Worst <= verify.Suspicion) || len(r.Suspicious) > 0 || !(r.WorstFloat32 <= tolerance32) ||
				!r.ByHand {
				t.Errorf(
					"got %.1e in float64 and %.1e in float32, want ≤ %.0e and %.0e; suspicious %v", r.Worst,
					r.WorstFloat32, verify.Suspicion, tolerance32, r.Suspicious,
				)
			}
			if !nightly && i%12 != 0 {
				return // central differences are slow
			}
			worst, float32 := r.Worst, r.WorstFloat32
			c.Forward, c.Backward = nil, nil
			r = tried(t, c, nightly)
			var differences verify.Gap
			for _, row := range r.Rows {
				differences = max(differences, row.Gaps["differences"])
			}
			if !(differences > 0) || r.ByHand {
				t.Errorf(
					"got %.1e by central differences, by hand %t, want a distance and none by hand", differences,
					r.ByHand,
				)
			}
			t.Logf("%.1e; float32 %.1e; differences %.1e", worst, float32, differences)
		})
	}
}

// The layers and the formulas also agree at sizes other than those for which the Cases were written.
func TestSmall(t *testing.T) {
	n, nightly := fixture.Small(1), os.Getenv("NIGHTLY") != ""
	for i, e := range At(n) {
		if !nightly && i%6 > 0 {
			continue
		}
		for _, c := range e.Cases {
			if c.Dims != n.Dims() {
				t.Errorf("%s: got sizes %+v, want %+v", c.Name, c.Dims, n.Dims())
			}
			tried(t, c, nightly)
		}
	}
}

// A Case is declared Bidirectional if and only if its layer looks ahead: without the declaration it fails.
func TestBidirectional(t *testing.T) {
	declared := 0
	for _, c := range All() {
		if !c.Bidirectional {
			continue
		}
		declared++
		c.Bidirectional = false
		r, err := c.RunSample(0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(
			r.Failures, func(f string) bool { return strings.Contains(f, "sees later tokens of its text") },
		) {
			t.Errorf("%s: got failures %v, want a token that sees a later one", c.Name, r.Failures)
		}
	}
	if declared < 10 {
		t.Errorf("%d Cases are declared Bidirectional, want 10 or more", declared)
	}
}

func tried(t *testing.T, c verify.Case, all bool) *verify.Report {
	t.Helper()
	run := c.Run
	if !all {
		run = func() (*verify.Report, error) { return c.RunSample(1) }
	}
	r, err := run()
	if err != nil {
		t.Fatalf("%+v", err)
	}
	for _, f := range append(r.Failures, r.First) {
		if f != "" {
			t.Error(f)
		}
	}
	return r
}

// Every exported type of nn with a Forward has a Case by hand, and no Case names another.
func TestEveryLayerHasACase(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range All() {
		for _, kind := range c.Types {
			covered[kind] = true
		}
		if c.Backward == nil || c.Source == "" || len(c.Types) == 0 {
			t.Errorf("%s: no formulas, source or types", c.Name)
		}
	}
	layers := map[string]bool{}
	for _, name := range withMethod(t, "Forward") {
		layers[name] = true
	}
	if len(layers) < 13 {
		t.Errorf("found %d layers in nn, want at least 13", len(layers))
	}
	for name := range layers {
		if !covered[name] && name != "LinkFunc" { // a function of a user
			t.Errorf("nn.%s has a Forward and no Case", name)
		}
	}
	for name := range covered {
		if !layers[name] {
			t.Errorf("a Case for nn.%s, which has no Forward", name)
		}
	}
}

// withMethod returns the exported types of nn that have the method.
func withMethod(t *testing.T, method string) (types []string) {
	t.Helper()
	files, err := filepath.Glob("../../../nn/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != method {
				continue
			}
			kind := f.Recv.List[0].Type
			if star, ok := kind.(*ast.StarExpr); ok {
				kind = star.X
			}
			if name := kind.(*ast.Ident).Name; ast.IsExported(name) {
				types = append(types, name)
			}
		}
	}
	return types
}
