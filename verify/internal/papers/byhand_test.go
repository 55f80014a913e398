package papers

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestByHand measures the column "by hand" of INDEX.md: the formulas of verify/hand that the test of an equation calls
// and without which it fails. Each of them in turn returns 1.01 times its result to its callers outside of the package;
// a mask hides nothing. The comparisons with misprints do not count.
func TestByHand(t *testing.T) {
	if os.Getenv("NIGHTLY") == "" {
		t.Skip("takes 40 s, and runs with NIGHTLY")
	}
	program := faulty(t)
	list, err := exec.Command(program, "-test.list", testName.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]string{} // tests by the formulas that they call
	for _, test := range strings.Fields(string(list)) {
		said := runFaulty(t, program, "record", test)
		if !strings.Contains(said, "--- PASS: "+test+" ") {
			t.Fatalf("%s without a fault: got\n%s", test, said)
		}
		for _, m := range regexp.MustCompile(`(?m)^calls (\S+)$`).FindAllStringSubmatch(said, -1) {
			calls[m[1]] = append(calls[m[1]], test)
		}
	}
	by := map[string][]string{}
	for _, formula := range slices.Sorted(maps.Keys(calls)) {
		said := runFaulty(t, program, formula, strings.Join(calls[formula], "|"))
		for _, test := range calls[formula] {
			switch failed := strings.Contains(said, "--- FAIL: "+test+" "); {
			case failed:
				by[test] = append(by[test], formula)
			case !strings.Contains(said, "--- PASS: "+test+" "):
				t.Fatalf("%s with a fault in %s: got neither a failure nor a success:\n%s", test, formula, said)
			}
		}
	}
	if *rewrite {
		measured.Lock()
		measured.formulas = by
		measured.Unlock()
		return
	}
	for _, p := range read(t).Papers {
		for _, e := range p.Equations {
			if !slices.Equal(by[e.Test], e.Formulas) {
				t.Errorf("INDEX.md: %s: got %v by hand, measured %v", e.Test, e.Formulas, by[e.Test])
			}
		}
	}
}

// runFaulty returns the output of some tests in a program of faulty.
func runFaulty(t *testing.T, program, fault, tests string) string {
	t.Helper()
	cmd := exec.Command(program, "-test.v", "-test.run", "^("+tests+")$")
	cmd.Env = append(os.Environ(), "FAULT="+fault)
	said, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		t.Fatal(err)
	}
	return string(said)
}

// faultText is added to verify/hand. A FAULT is the name of a formula, or "record".
const faultText = `package hand

import (
	"math"
	"os"
	"runtime"
	"strings"
)

var fault = os.Getenv("FAULT")
var called = map[string]bool{}

func faulty(name string) bool {
	if fault != name && fault != "record" {
		return false
	}
	var at [1]uintptr
	runtime.Callers(3, at[:])
	frame, _ := runtime.CallersFrames(at[:]).Next()
	if strings.Contains(frame.Function, "/verify/hand.") {
		return false
	}
	if fault == "record" {
		if !called[name] {
			called[name] = true
			os.Stdout.WriteString("\ncalls " + name + "\n")
		}
		return false
	}
	return true
}

func scaledMatrix[T Number](x *Matrix[T]) { *x = x.Scale(1.01) }

func scaledMask(x *Matrix[float64]) {
	*x = x.each(func(v float64) float64 {
		if math.IsInf(v, -1) {
			return 0
		}
		return 1.01 * v
	}, nil)
}

func scaledGradients[T Number](g *Gradients[T]) {
	out := append(Gradients[T](nil), *g...)
	for i := range out {
		out[i].Value = out[i].Value.Scale(1.01)
	}
	*g = out
}

func scaledValues[T Number](v *Values[T]) {
	out := Values[T]{}
	for name, x := range *v {
		out[name] = x.Scale(1.01)
	}
	*v = out
}

func scaledPartial[T Number](a *Partial[T]) { a.Total, a.Out = a.Total.Scale(1.01), a.Out.Scale(1.01) }
`

// faulty compiles the tests with formulas that can be scaled, and returns the program.
func faulty(t *testing.T) string {
	t.Helper()
	dir, overlay := t.TempDir(), map[string]string{}
	put := func(path, text string) {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		overlay[path] = filepath.Join(dir, fmt.Sprint(len(overlay), ".go"))
		if err := os.WriteFile(overlay[path], []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("../../hand/fault.go", faultText)
	woven := map[string]bool{}
	for _, f := range read(t).Formulas {
		if path := filepath.Join(module, f.Place.File); !woven[path] {
			woven[path] = true
			put(path, weave(t, path))
		}
	}
	const test = "boue_test.go"
	text, err := os.ReadFile(test)
	if err != nil {
		t.Fatal(err)
	}
	const start = "amount float64) {\n"
	before, after, ok := strings.Cut(string(text), start)
	if !ok || !strings.Contains(before, "func wrongBy(") {
		t.Fatalf("%s: found no wrongBy", test)
	}
	put(test, before+start+"\treturn\n"+after)

	replace, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "faulty.test")
	if err := os.WriteFile(file, replace, 0o644); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command(
		"go", "test", "-c", "-vet=off", "-overlay", file, "-o", program, ".",
	).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return program
}

// weave returns a source of verify/hand whose exported formulas can be scaled.
func weave(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, done := "", 0
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !f.Name.IsExported() || f.Type.Results == nil {
			continue
		}
		var results, faults []string
		for _, field := range f.Type.Results.List {
			kind := types.ExprString(field.Type)
			names := []string{fmt.Sprint("result", len(results))}
			if len(field.Names) > 0 {
				names = nil
			}
			for _, n := range field.Names {
				names = append(names, n.Name)
			}
			for _, name := range names {
				results = append(results, name+" "+kind)
				if scale := scaledBy(path, kind); scale != "" {
					faults = append(faults, scale+"(&"+name+")")
				}
			}
		}
		name := f.Name.Name
		if f.Recv != nil {
			of, _, _ := strings.Cut(types.ExprString(f.Recv.List[0].Type), "[")
			name = strings.TrimPrefix(of, "*") + "." + name
		}
		if len(faults) == 0 || strings.HasPrefix(name, "Matrix.") || strings.HasPrefix(name, "Gradients.") {
			continue
		}
		offset := func(p token.Pos) int { return files.Position(p).Offset }
		out += string(text[done:offset(f.Type.Results.Pos())]) + "(" + strings.Join(results, ", ") + ") {\n"
		out += fmt.Sprintf("\tif faulty(%q) {\n\t\tdefer func() { %s }()\n\t}\n", name, strings.Join(faults, "; "))
		done = offset(f.Body.Lbrace) + 1
	}
	return out + string(text[done:])
}

// scaledBy returns the function of faultText that scales a result of a type, or "".
func scaledBy(path, kind string) string {
	switch {
	case filepath.Base(path) == "mask.go" && kind == "Matrix[float64]":
		return "scaledMask"
	case strings.HasPrefix(kind, "Matrix["):
		return "scaledMatrix"
	case strings.HasPrefix(kind, "Gradients["):
		return "scaledGradients"
	case strings.HasPrefix(kind, "Values["):
		return "scaledValues"
	case strings.HasPrefix(kind, "Partial["):
		return "scaledPartial"
	}
	return ""
}
