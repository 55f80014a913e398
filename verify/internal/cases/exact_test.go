package cases

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/identity"
)

// notExact lists the formulas by hand that no Case names and takes along the exact road, with the reason.
var notExact = map[string]string{
	"AdamWUpdate":        "an update has no gradient; identity.TestForms compares its first step with the closed form",
	"Attend":             "the cache has no backward pass; identity.TestForms compares it with attention at once",
	"Embedding":          "it is the table of Tokens and of LearnedPositions",
	"LoRA":               "Site.Linear makes it, in Cases with adapters",
	"LinearScan":         "identity.TestExactScan takes it along the road",
	"ScheduleFreeUpdate": "an update has no gradient",
	"LionUpdate":         "an update has no gradient, and the sign in it no differential equation",
	"MuonUpdate":         "an update has no gradient",
	"RebalanceUpdate":    "an update has no gradient, and the sign in it no differential equation",
	"SOAPUpdate":         "an update has no gradient",
	"SGDUpdate":          "an update has no gradient; identity.TestForms compares two steps with their sum",
	"Merge":              "it is a step of Flash",
	"PackedQKV":          "it is the projection of SelfAttention",
	"Mixtures":           "they are the heads of Linformer",
	"Windows":            "they are the heads of Longformer",
}

// TestEveryFormulaIsExact checks that a Case takes every formula by hand along the exact road, or that the reason why
// none does is listed here. Every Case with formulas takes the road: TestCases requires it.
func TestEveryFormulaIsExact(t *testing.T) {
	read := func(dir string) (text string) {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text += string(b)
		}
		return text
	}
	formulas, users := read("../../hand"), read(".")+read("../variants")
	found := map[string]bool{}
	for _, pattern := range []string{
		`func \((?:\w+ )?([A-Z]\w*)\[T\]\) Backward\(`, // a layer or a head
		`func ([A-Z]\w*Update)\[T Number\]`,            // an optimizer
		`func \(\w+ \w+\[T\]\) (Attend|Merge)\(q?b?`,   // a step
	} {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(formulas, -1) {
			found[m[1]] = true
		}
	}
	for name := range found {
		used := regexp.MustCompile(`\.` + name + `\b`).MatchString(users)
		if reason := notExact[name]; used == (reason != "") {
			t.Errorf("%s: a Case uses it: %t, and the reason for none is %q", name, used, reason)
		}
	}
	for name := range notExact {
		if !found[name] {
			t.Errorf("%s: there is no such formula", name)
		}
	}
	if len(found) < 50 {
		t.Errorf("%d formulas found, want at least 50", len(found))
	}
}

// TestExactDraw takes every Case along the exact road at one random point.
func TestExactDraw(t *testing.T) {
	t.Parallel()
	for _, c := range All() {
		if e, err := c.Exact(1, 7); err != nil || e.Differing != 0 || !(e.Bound < -30) {
			t.Errorf("%s: got %+v, %v", c.Name, e, err)
		}
	}
}

// numbers returns random numbers for the input and the parameters of a Case.
func numbers(t *testing.T, c verify.Case) hand.Parameters[float64] {
	t.Helper()
	at, backward := hand.Parameters[float64]{}, c.Backward
	c.Backward = func(p hand.Parameters[float64], delta matrix) hand.Gradients[float64] {
		for name, m := range p {
			at[name] = fixture.Random(name, m.Rows, m.Cols).Scale(2)
		}
		return backward(p, delta)
	}
	if _, err := c.Exact(1, 1); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestHessians takes the product of every Case's Hessian, by day of every sixth, with a direction, by dual numbers over
// its backward pass. In the field the Hessian is symmetric without rounding. In float64 the product equals the complex
// step of the backward pass, which is a difference of gradients without a rounding of its own.
func TestHessians(t *testing.T) {
	t.Parallel()
	const h = 1e-30
	n := fixture.Default()
	step := entries[complex128](n)
	worst := 0.0
	nightly := os.Getenv("NIGHTLY") != ""
	for i, e := range entries[float64](n) {
		if !nightly && i%6 > 0 {
			continue
		}
		for k, f := range e.formulas {
			c := byHand(n, f.Case, f.layer, step[i].formulas[k].layer)
			at := numbers(t, c)
			var states []string // before the first token, without a gradient
			for name := range at {
				if c.Carry && (name == "state" || strings.HasSuffix(name, ".state")) {
					states = append(states, name)
				}
			}
			got, err := identity.Formula{
				At: at, Frozen: states, Forward: c.Forward,
				Backward: func(p hand.Parameters[float64], delta matrix) (hand.Gradients[float64], error) {
					return c.Backward(p, delta), nil
				},
			}.Hessian(3)
			if err != nil || !got.Symmetric {
				t.Errorf("%s: symmetric %t, %v", c.Name, got.Symmetric, err)
				continue
			}
			z := hand.Parameters[complex128]{}
			for name, m := range at {
				z[name] = hand.Lift[complex128](m)
				for i, v := range got.V[name].Data {
					z[name].Data[i] += complex(0, h*v)
				}
			}
			dx, g := step[i].formulas[k].layer(site(z)).Backward(z[input], hand.Lift[complex128](got.Delta))
			g = append(g, hand.Gradient[complex128]{Name: input, Value: dx})
			for i := range g {
				if g[i].Name == hand.MemoryDelta {
					g[i].Name, g[i].Delta = memory, false
				}
				g[i].Name = strings.TrimPrefix(g[i].Name, "/")
			}
			for name, m := range g.Parameters() {
				if m.Err != nil {
					t.Fatal(c.Name, m.Err)
				}
				for i, v := range m.Data {
					want := imag(v) / h
					worst = max(worst, math.Abs(got.HV[name].Data[i]-want)/max(1, math.Abs(want)))
				}
			}
		}
	}
	if t.Logf("%.1e", worst); !(worst <= 1e-12) {
		t.Errorf("got %.1e from the complex step, want at most 1e-12", worst)
	}
}
