package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write testdata again")

const small = "verify/internal/mutate/testdata/small"

// Each operator creates the mutants that testdata/small.txt lists, and all have different names.
func TestOperators(t *testing.T) {
	m, err := load([]string{small}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	seen := map[string]bool{}
	for _, mu := range m.mutants() {
		if seen[mu.key()] {
			t.Errorf("two mutants are %s", mu.key())
		}
		seen[mu.key()] = true
		fmt.Fprintf(&got, "%s: %s → %s\n", strings.TrimPrefix(mu.key(), small+" "), mu.Before, mu.After)
	}
	if *update {
		if err := os.WriteFile("testdata/small.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/small.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got these mutants, want those of testdata/small.txt:\n%s", got.String())
	}
}

// The tests of the small package kill some mutants, one of them by running forever. One mutant is listed as equivalent,
// one does not compile, and mutants of functions without a test survive.
func TestStatuses(t *testing.T) {
	t.Parallel()
	reason := small + " clamp compare `if n < 0 { return 0 }` -0 is 0\n" + small +
		" positive * is of a function without a test"
	var progress bytes.Buffer
	o := options{packages: []string{small}, timeout: time.Second, equivalent: reason}
	mutants, left, err := mutate(o, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), "TestFails fails without a mistake and is left out") {
		t.Errorf("no word of the test that fails:\n%s", progress.String())
	}
	got := map[string]*mutant{}
	for _, m := range mutants {
		got[strings.TrimPrefix(m.key(), small+" ")] = m
	}
	for _, c := range []struct {
		name, status string
		reached      bool
	}{
		{"sum sign `total += xs[i]`", killed, true},                                    // a generic function
		{"sum drop-statement `if xs[i] < limit { total += xs[i] }`", killed, true},     // an if
		{"Vector.zip off-by-one `f(x[i], y[i])`", killed, true},                        // out of range
		{"Vector.zip drop-statement `out = append(out, f(x[i], y[i]))`", killed, true}, // forgets i
		{"power drop-statement `p *= 2`", killed, true},                                // no end
		{"difference swap `a.Sub(b)`", killed, true},
		{"sum compare `xs[i] < limit`", survived, true},
		{"clamp compare `if n < 0 { return 0 }`", harmless, false},
		{"check two `1`", notCompiling, false}, // a case twice
		{"check drop-right `half := n / 2`", survived, false},
		{"positive two `return 1, nil`", harmless, false}, // like the entire function
	} {
		if m := got[c.name]; m == nil {
			t.Errorf("no mutant %s", c.name)
		} else if m.Status != c.status || m.Reached != c.reached {
			t.Errorf("%s: got %s, reached %v, want %s, %v", c.name, m.Status, m.Reached, c.status, c.reached)
		}
	}
	var out strings.Builder
	if err := report(&out, mutants, left); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"left out because it fails without a mistake: github.com/pedestrian-ml/pedestrian/" + small + " TestFails\n",
		small + "/small.go:41: < → <=\n\tif xs[i] < limit {\n\t" + small + " sum compare `xs[i] < limit`\n",
		"small.go:66: n / 2 → n  (no test enters it)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report has no %q:\n%s", want, out.String())
		}
	}
}

func TestDraw(t *testing.T) {
	all := make([]*mutant, 50)
	for i := range all {
		all[i] = &mutant{id: i}
	}
	a, b, c := draw(all, 9, 1), draw(all, 9, 1), draw(all, 9, 2)
	if len(a) != 9 || fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) == fmt.Sprint(c) {
		t.Errorf("got %d, %v and, with another seed, %v", len(a), b, c)
	}
	if got := len(draw(all, 0, 1)); got != 50 {
		t.Errorf("got %d mutants of all 50", got)
	}
}

// An entry without a mutant is an error, and so is one without a reason. The committed entries have both.
func TestEquivalent(t *testing.T) {
	t.Parallel()
	m, err := load([]string{small}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"# nothing\n\nother/package f sign `x` why": "",
		small + " sum sign `none` why":              "line 1: no such mutant: " + small + " sum sign `none`",
		small + " sum off-by-one `xs[i]` #9 why":    "line 1: no such mutant: " + small + " sum off-by-one `xs[i]` #9",
		small + " sum off-by-one `xs[i]`":           "line 1: want package, function, operator, `phrase` and reason",
		small + " sum off-by-one why":               "line 1: want package, function, operator, `phrase` and reason",
	} {
		err := markEquivalent(text, m, m.mutants())
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
	tagged := *m
	tagged.tags = "nosimd" // the line may be one of a file that is left out
	if err := markEquivalent(small+" sum sign `none` why", &tagged, m.mutants()); err != nil {
		t.Errorf("with a build tag: %v", err)
	}
	var packages []string
	for _, line := range strings.Split(equivalent, "\n") {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			packages = append(packages, words[0])
		}
	}
	if len(packages) == 0 {
		return
	}
	slices.Sort(packages)
	if m, err = load(slices.Compact(packages), nil, ""); err != nil {
		t.Fatal(err)
	}
	if err := markEquivalent(equivalent, m, m.mutants()); err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range []string{"", "-packages nn -n 0", "-packages nn more", "-packages no/such -n 1"} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// TestSample draws a sample of mistakes in the library itself. The score of all mistakes takes the command minutes.
func TestSample(t *testing.T) {
	if os.Getenv("NIGHTLY") == "" {
		t.Skip("builds a package with mistakes in it and runs its tests dozens of times")
	}
	t.Parallel()
	o := options{packages: []string{"verify/hand"}, n: 60, seed: 1, timeout: 4 * time.Second}
	o.equivalent = equivalent
	mutants, left, err := mutate(o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := report(&out, mutants, left); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	count := tally{}
	for _, m := range mutants {
		count[m.Status]++
	}
	if got := count.score(); !(got >= 98) {
		t.Errorf("%.0f %% of the mistakes are detected, want 98:\n%s", got, out.String())
	}
}
