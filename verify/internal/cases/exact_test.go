package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notExact lists the formulas by hand that no Case names and takes along the exact road, with the reason.
var notExact = map[string]string{
	"AdamWUpdate": "an update has no gradient; identity.TestForms compares its first step with the closed form",
	"Attend":      "the cache has no backward pass; identity.TestForms compares it with attention at once",
	"LoRA":        "Site.Linear makes it, in Cases with adapters",
	"LinearScan":  "identity.TestForms compares it with linear attention, of which there are Cases",
	"LionUpdate":  "an update has no gradient, and the sign in it no differential equation",
	"SGDUpdate":   "an update has no gradient; identity.TestForms compares two steps with their sum",
	"Merge":       "it is a step of Flash",
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
		if e, err := c.Exact(1, 7); err != nil || e.Differing != 0 || !(e.Bound < -40) {
			t.Errorf("%s: got %+v, %v", c.Name, e, err)
		}
	}
}
