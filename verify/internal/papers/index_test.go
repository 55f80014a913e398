package papers

import (
	"flag"
	"fmt"
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
	"github.com/pedestrian-ml/pedestrian/verify/equation"
	"github.com/pedestrian-ml/pedestrian/verify/index"
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

const module = "../../.."

// read returns the index that the sources and INDEX.md hold.
func read(t *testing.T) equation.Index {
	t.Helper()
	x, err := index.Read(module)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// INDEX.md is current, and none of its distances is too large. They are compared digit by digit on processors that
// compute the same bits as the one that INDEX.md was written on, and by their order of magnitude on other processors.
func TestIndex(t *testing.T) {
	t.Parallel() // to be run when the tests of the equations have been
	x := read(t)
	before, formulas := distances(t, x), measured.formulas
	checkDistances(t, before)
	rows := 0
	for _, p := range x.Papers {
		for i := range p.Equations {
			e := &p.Equations[i]
			if rows++; e.Test == "" {
				continue
			}
			if formulas != nil {
				e.Formulas = formulas[e.Test]
			}
			distance, ok := measured.by[e.Test]
			if !ok {
				distance, ok = before[e.Test]
			}
			if ok {
				e.Distance = withReason(t, e.Test, distance)
			} else if e.Test != "TestXuEq18" && e.Test != "TestContiEq18" {
				t.Errorf("%s: got no distance in INDEX.md and none measured, want one", e.Test)
			}
			if ok && !(distance <= verify.Suspicion) {
				t.Errorf("%s: got distance %.1e, want ≤ %.0e", e.Test, distance, verify.Suspicion)
			}
		}
	}
	if rows != 55+84+23+39+36 {
		t.Errorf("got %d rows, want 237", rows)
	}
	checkReadme(t, x)
	path := filepath.Join(module, "verify/INDEX.md")
	if *rewrite {
		if err := os.WriteFile(path, []byte(x.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := blanked(string(old)), blanked(x.String()); got != want {
		got, want := strings.Split(got, "\n"), strings.Split(want, "\n")
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Fatalf("INDEX.md, line %d, is not current:\ngot  %s\nwant %s", i+1, got[i], want[i])
			}
		}
		t.Fatalf("INDEX.md: got %d lines, want %d", len(got), len(want))
	}
}

// checkReadme requires the counts of equations with a test, with a distance and with a formula by hand in the README.
func checkReadme(t *testing.T, x equation.Index) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(module, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, distances, formulas := 0, 0, 0
	for _, p := range x.Papers {
		for _, e := range p.Equations {
			if e.Test != "" {
				tests++
			}
			if e.Distance != "" {
				distances++
			}
			if e.Formulas != nil {
				formulas++
			}
		}
	}
	const counts = "the 237 numbered equations of five papers: %d have a test, %d of them with its measured error, " +
		"%d fail if a formula by hand is scaled by 1.01, and %d only name something"
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
		if _, indexed := written[name]; testName.MatchString(name) && (!indexed || stale(got, want, sameBits())) {
			t.Errorf("INDEX.md: %s: got distance %s, measured %s", name, digits(want), digits(got))
		}
	}
}

var testName = regexp.MustCompile(`^Test(Boue|Xu|Conti|Diab|Note)Eq\d+$`)

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
			t.Errorf(
				"measured %v, written %v, the same bits: got stale %t, want %t", test.measured, test.written, got,
				test.same,
			)
		}
		if got := stale(test.measured, test.written, false); got != test.apart {
			t.Errorf(
				"measured %v, written %v, other bits: got stale %t, want %t", test.measured, test.written, got,
				test.apart,
			)
		}
	}
}

var lastCell = regexp.MustCompile(`(?m)\| (Test\w+) \| ([^|]*) \| \d \|$`)

// distances returns the distances in an index.
func distances(t *testing.T, x equation.Index) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, p := range x.Papers {
		for _, e := range p.Equations {
			if e.Distance == "" {
				continue
			}
			number, reason, _ := strings.Cut(e.Distance, ", ")
			d, err := strconv.ParseFloat(number, 64)
			if err != nil || math.IsNaN(d) || !*rewrite && reason != zeroReasons()[e.Test] && (d == 0 || reason != "") {
				t.Errorf("INDEX.md: %s: got distance %q, want a number, or 0 with its reason", e.Test, e.Distance)
			}
			out[e.Test] = d
		}
	}
	return out
}

// blanked returns the index without the measured distances.
func blanked(index string) string { return lastCell.ReplaceAllString(index, "| $1 | |") }
