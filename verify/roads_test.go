package verify

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// An error of the formulas or of a road is an error of the Case, whenever it occurs. A loss that is not a number is an
// error too.
func TestCaseErrors(t *testing.T) {
	looks := 0
	for name, c := range map[string]struct {
		break_ func(*Case)
		want   string
	}{
		"forward fails": {func(c *Case) {
			c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
				return p["bias"].MatMul(p["bias"])
			}
		}, "shapes do not fit"},
		"fails later": {func(c *Case) {
			forward := c.Forward
			c.Forward = func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
				if looks++; looks > 20 {
					return p["bias"].MatMul(p["bias"])
				}
				return forward(p)
			}
		}, "shapes do not fit"},
		"no number": {func(c *Case) {
			c.Forward, c.Backward = nil, nil
			c.Build = func(_ nn.Site, x graph.Expr) graph.Expr { return x.Log() }
		}, "the loss is NaN"},
	} {
		broken := norm()
		c.break_(&broken)
		if _, err := broken.Run(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// The input comes before the parameters, and structural zeros have rows of their own.
func TestCaseRows(t *testing.T) {
	m := func(cols int) hand.Matrix[float64] { return hand.Zeros[float64](1, cols) }
	g := hand.Gradients[float64]{
		{Name: "y", Value: m(2), Symbol: "s", Equation: "(1)"},
		{Name: "b", Part: "q", Value: m(2)}, {Name: "b", Part: "k", Value: m(3), Zero: true},
		{Name: "b", Part: "v", Value: m(4)}, {Name: "b", Part: "w", Value: m(1)}, {Name: "c", Part: "q", Value: m(2)},
		{Name: "c", Part: "k", Value: m(3)}, {Name: "x", Value: m(7)}, {Name: "Δ", Delta: true, Value: m(9)},
		{Name: "y", Value: m(2)},
	}
	var got []string
	for _, r := range caseRows(g) {
		got = append(
			got, fmt.Sprint(r.Name, " ", r.parameter, " ", r.from, " ", r.to, " ", r.Zero, r.Symbol, r.Equation),
		)
	}
	want := []string{
		"x x 0 7 false", "b[0:2] b 0 2 false", "b[2:5] b 2 5 true", "b[5:10] b 5 10 false", "c c 0 5 false",
		"y y 0 2 false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for _, r := range rows(g) {
		got = append(got, fmt.Sprint(r.Name, " ", r.from, " ", r.to, r.Symbol, r.Equation))
	}
	if diff := cmp.Diff(
		[]string{"y 0 2s(1)", "b q 0 2", "b k 2 5", "b v 5 9", "b w 9 10", "c q 0 2", "c k 2 5", "x 0 7"}, got,
	); diff != "" {
		t.Error(diff)
	}
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"x", "x", 0}, {"x", "a", -1}, {"a", "x", 1}, {"x", "z", -1}, {"z", "x", 1}, {"a", "b", -1}, {"b", "a", 1},
		{"a", "a", 0},
	} {
		if got := inputFirst(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// Rows hold every column of every parameter once.
func TestPartition(t *testing.T) {
	row := func(from, to int) Row { return Row{Name: "w", parameter: "w", from: from, to: to} }
	for _, c := range []struct {
		rows []Row
		ok   bool
	}{
		{[]Row{row(0, 5)}, true}, {[]Row{row(0, 2), row(2, 5)}, true}, {[]Row{row(0, 4), row(4, 5)}, true},
		{nil, false}, {[]Row{row(1, 5)}, false}, {[]Row{row(0, 4)}, false}, {[]Row{row(0, 6)}, false},
		{[]Row{row(0, 2), row(3, 5)}, false},
		{[]Row{row(0, 3), row(2, 5)}, false}, {[]Row{row(0, 0), row(0, 5)}, false},
		{[]Row{row(0, 5), row(5, 4)}, false},
	} {
		r := &Report{Rows: c.rows}
		if err := r.partition(hand.Parameters[float64]{"w": hand.Zeros[float64](3, 5)}); (err == nil) != c.ok ||
			err != nil && !errors.Is(err, ErrCoverage) {
			t.Errorf("%+v: got %v", c.rows, err)
		}
	}
}

// Differences are relative to the larger of both entries, and to at least a thousandth of the largest gradient.
func TestDistance(t *testing.T) {
	nan := math.NaN()
	m := func(x ...float64) hand.Matrix[float64] { return hand.NewMatrix(2, len(x)/2, x...) }
	for _, c := range []struct {
		a, b hand.Matrix[float64]
		g    float64
		want Difference
	}{
		{m(1, 2, 3, 4, 5, 6), m(1, 2, 3, 4, 5, 6), 1, Difference{Got: 1, Want: 1}},
		{m(1, 2, 3, 4, 5, 6), m(1, 2, 3, 4, 8, 6), 1, Difference{Distance: 3. / 8, Row: 1, Col: 1, Got: 5, Want: 8}},
		{
			m(1, 2, 3, 4, -9, 6), m(1, 2, 3, 4, -8, 6), 1,
			Difference{Distance: 1. / 9, Row: 1, Col: 1, Got: -9, Want: -8},
		},
		{m(1, 2, 3, 4), m(1, 3, 3, 3), 1, Difference{Distance: 1. / 4, Row: 0, Col: 1, Got: 2, Want: 3}},
		{m(1, 2, 3, 4), m(1, 2, 3, 5), 10_000, Difference{Distance: 1. / 10, Row: 1, Col: 1, Got: 4, Want: 5}},
		{m(0, 0), m(0, 0), 0, Difference{}},
	} {
		if got := Distance(c.a, c.b, c.g); got != c.want {
			t.Errorf("%v and %v: got %+v, want %+v", c.a.Data, c.b.Data, got, c.want)
		}
	}
	for i := range 4 {
		a := m(1, 2, 3, 4)
		a.Data[i] = nan
		if got := Distance(a, m(1, 2, 3, 50), 1); !math.IsNaN(got.Distance) || got.Row != i/2 || got.Col != i%2 {
			t.Errorf("NaN at %d: got %+v", i, got)
		}
	}
	d := func(xs ...float64) (ds []Difference) {
		for i, x := range xs {
			ds = append(ds, Difference{Name: fmt.Sprint(i), Distance: x})
		}
		return ds
	}
	for _, c := range []struct {
		ds   []Difference
		want string
	}{
		{d(1, 2, 3), "2"}, {d(3, 2, 1), "0"}, {d(1, 3, 2), "1"}, {d(1, 1), "0"}, {d(nan, 1), "0"}, {d(1, nan), "1"},
		{d(1, nan, 2), "1"}, {d(nan, math.Inf(1)), "0"},
	} {
		if got := Worst(c.ds); got.Name != c.want {
			t.Errorf("%v: got %s, want %s", c.ds, got.Name, c.want)
		}
	}
	if got := Largest(hand.Parameters[float64]{"a": m(1, -7), "b": m(3, 2)}); got != 7 {
		t.Errorf("largest: got %v, want 7", got)
	}
	for _, c := range []struct {
		v, g float64
		want bool
	}{{5e-12, 5, true}, {-5e-12, 5, true}, {5.1e-12, 5, false}, {0, 0, true}, {1e-300, 0, false}} {
		if got := StructuralZero(m(0, c.v), c.g); got != c.want {
			t.Errorf("%v beside %v: got %t", c.v, c.g, got)
		}
	}
	if (Difference{Distance: Tolerance}).OK() != true || (Difference{Distance: 1.01 * Tolerance}).OK() ||
		(Difference{Distance: nan}).OK() {
		t.Error("the tolerance itself is near enough, more is not, and NaN is not")
	}
}

// A road at its tolerance passes and above it fails. A distance that is not a number fails. Each is in its own column.
func TestReportBorders(t *testing.T) {
	roads := map[string]float64{reference.name: 1e-10, kernels64.name: 1e-10, complexStep: 1e-10, kernels32.name: 1e-3}
	byHand := func() *Report { return &Report{ByHand: true, Tolerance: 1e-10, ToleranceFloat32: 1e-3} }
	plain := func() *Report { return &Report{Tolerance: 1e-10, ToleranceFloat32: 1e-3} }
	check := func(name string, r *Report, road string, distance float64, ok bool) {
		t.Helper()
		row := Row{Name: "w", Equation: "(1)"}
		row.put(road, distance)
		r.Rows = []Row{row, {Name: "v"}}
		r.finish()
		if r.OK() != ok {
			t.Errorf("%s, %s at %v: got %v", name, road, distance, r.Failures)
		}
		if !ok && !strings.HasPrefix(r.Failures[0], "w (1): "+r.road(road).name+": distance ") {
			t.Errorf("%s, %s at %v: got %v", name, road, distance, r.Failures)
		}
		if at := gap(distance); road == kernels32.name {
			if r.WorstFloat32 != at || r.Worst != 0 || r.Suspicious != nil {
				t.Errorf("%s, %s: got %v, %v, %v", name, road, r.WorstFloat32, r.Worst, r.Suspicious)
			}
		} else if r.Worst != at || r.WorstFloat32 != 0 || slices.Contains(r.Suspicious, "w") != (at > Suspicion &&
			road != differences) {
			t.Errorf("%s, %s at %v: got %v, %v, %v", name, road, distance, r.Worst, r.WorstFloat32, r.Suspicious)
		}
	}
	for road, tolerance := range roads {
		for distance, ok := range map[float64]bool{
			tolerance: true, Suspicion: true, 1.01 * tolerance: false, math.NaN(): false, math.Inf(1): false,
		} {
			check("by hand", byHand(), road, distance, ok)
			if road == kernels32.name || road == kernels64.name {
				check("by differences", plain(), road, distance, ok)
			}
		}
	}
	for distance, ok := range map[float64]bool{1e-6: true, 1.01e-6: false} {
		check("by differences", plain(), differences, distance, ok)
	}
	for _, c := range []struct {
		form      form
		want, got float64
		ok        bool
	}{
		{reference, 8, 8 + 7e-10, true}, {reference, 8, 8 - 9e-10, false}, {reference, -8, -8 +
			9e-10, false}, {kernels64, 0.5, 0.5 + 0.9e-10, true},
		{kernels64, 0.5, 0.5 - 1.1e-10, false}, {kernels32, 8, 8.007, true}, {kernels32, 8, 8.009, false},
		{reference, 1, math.NaN(), false},
	} {
		r := byHand()
		r.Loss = c.want
		if r.loss(&results{form: c.form, loss: c.got}); r.OK() != c.ok {
			t.Errorf("%s: a loss of %v instead of %v: got %v", c.form.name, c.got, c.want, r.Failures)
		}
	}
}

// The compared entries are counted and measured. A structural zero must be zero in the gradient by hand and in every
// road of float64.
func TestReportCompare(t *testing.T) {
	m := func(x ...float64) hand.Matrix[float64] { return hand.NewMatrix(1, len(x), x...) }
	for name, c := range map[string]struct {
		want, double, single float64 // the entry that should be 0
		nonzero              bool
	}{
		"zero": {0, 1e-13, 1e-4, false}, "by hand": {1e-6, 1e-6, 1e-6, true}, "float64": {0, 1e-6, 0, true},
	} {
		want := hand.Parameters[float64]{"w": m(3, -4, c.want), "v": m(12)}
		r := &Report{
			Tolerance: Tolerance,
			Rows: []Row{
				{Name: "w", parameter: "w", to: 2}, {Name: "z", parameter: "w", from: 2, to: 3, Zero: true},
				{Name: "v", parameter: "v", to: 1},
			},
		}
		roads := []*results{
			{form: kernels64, grads: hand.Parameters[float64]{"w": m(3, -4, c.double), "v": m(12)}},
			{form: kernels32, grads: hand.Parameters[float64]{"w": m(3, -5, c.single), "v": m(12)}},
		}
		if err := r.compare(roads, want); err != nil {
			t.Fatal(err)
		}
		if r.Parameters != 4 || r.Rows[0].Count != 2 || r.Rows[0].Norm != 5 || r.Rows[0].Shape != [2]int{1, 2} ||
			!maps.Equal(r.Rows[0].Gaps, map[string]Gap{"kernels": 0, "float32": 0.2}) {
			t.Errorf("%s: got %+v", name, r)
		}
		if r.Rows[1].nonzero != c.nonzero || r.Rows[0].nonzero || len(r.failures(r.Rows[1])) > 0 != c.nonzero &&
			c.double == c.want {
			t.Errorf("%s: got %+v", name, r.Rows[1])
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), 1e200} { // the last has a length of +Inf
		r := &Report{Rows: []Row{{Name: "w", parameter: "w", to: 1}}}
		if err := r.compare(nil, hand.Parameters[float64]{"w": m(v)}); err == nil ||
			!strings.Contains(err.Error(), "w: the gradient has length") {
			t.Errorf("%v: got %v", v, err)
		}
		if r.Loss = v; v < 1e300 {
			continue
		}
		if err := r.compare(nil, hand.Parameters[float64]{"w": m(1)}); err == nil ||
			!strings.Contains(err.Error(), "the loss is") {
			t.Errorf("%v: got %v", v, err)
		}
	}
}

// Few entries are all taken. Of many, the largest and the same number of others are taken.
func TestEntries(t *testing.T) {
	full := hand.NewMatrix(3, 5, 1.0, -2, 3, -4, 5, 6, -7, 8, -9, 10, 11, -12, 13, -14, 15)
	row := Row{parameter: "w", from: 1, to: 4}
	inside := []int{1, 2, 3, 6, 7, 8, 11, 12, 13}
	for few, want := range map[int]int{9: 9, 5: 9, 4: 8, 2: 4, 1: 2} {
		got := row.entries(full, few, rand.New(rand.NewPCG(1, 2)))
		if len(got) != want {
			t.Errorf("%d: got %v, want %d", few, got, want)
		}
		for _, i := range got {
			if !slices.Contains(inside, i) {
				t.Errorf("%d: got %d, which is not in the row", few, i)
			}
		}
		if largest := []int{13, 12, 11, 8}; want < 9 && !slices.Equal(got[few:], largest[:few]) {
			t.Errorf("%d: got %v, want the largest %v", few, got[few:], largest[:few])
		}
		if want == 9 && !slices.Equal(got, inside) {
			t.Errorf("%d: got %v, want all", few, got)
		}
	}
	for _, c := range []struct{ parameters, want int }{{20, 9}, {21, 4}} {
		r, looks := &Report{Parameters: c.parameters, Rows: []Row{row}}, 0
		err := r.oneByOne(unwatched(), complexStep, hand.Parameters[float64]{"w": full}, sampling{every: 20, few: 2},
			rand.New(rand.NewPCG(1, 2)), func(_ string, i int) (float64, error) {
				looks++
				return full.Data[i] + 1.5, nil
			})
		if err != nil || looks != c.want || !(math.Abs(float64(r.Rows[0].Gaps[complexStep])-1.5/14) <= 0.02) {
			t.Errorf(
				"%d parameters: looked %d times, distance %v, %v", c.parameters, looks, r.Rows[0].Gaps[complexStep],
				err,
			)
		}
	}
	r := &Report{Rows: []Row{row}}
	if err := r.oneByOne(
		unwatched(), differences, hand.Parameters[float64]{"w": full}, sampling{}, rand.New(rand.NewPCG(1, 2)),
		func(string, int) (float64, error) { return 0, errors.New("no") },
	); err == nil || err.Error() != "no" {
		t.Errorf("got %v", err)
	}
	if got := defaultSampling(); got != (sampling{every: 5000, few: 8}) {
		t.Errorf("got %+v, want the sampling that the documents promise", got)
	}
}

// The complex step is exact: for Σ p³ it is 3p², and along a direction the sum of their products.
func TestComplexStep(t *testing.T) {
	cubes := func(p hand.Parameters[complex128]) (y complex128, err error) {
		for _, m := range p {
			for _, v := range m.Data {
				y += v * v * v
			}
		}
		return y, nil
	}
	p := hand.Parameters[float64]{"a": hand.NewMatrix(2, 2, 1, -2, 3, 0.5), "b": hand.NewMatrix(1, 1, 7.0)}
	g, err := ComplexStep(cubes, p)
	if err != nil {
		t.Fatal(err)
	}
	want := hand.Parameters[float64]{"a": hand.NewMatrix(2, 2, 3, 12, 27, 0.75), "b": hand.NewMatrix(1, 1, 147.0)}
	ds, err := Compare(g, want)
	if d := Worst(ds); err != nil || !(d.Distance <= 1e-15) {
		t.Errorf("got %+v, %v", d, err)
	}
	along, err := ComplexStepAlong(cubes, p, hand.Parameters[float64]{"a": hand.NewMatrix(2, 2, 0, 0.5, -1, 0)})
	if err != nil || !(math.Abs(along+21) <= 1e-13) {
		t.Errorf("along: got %v, %v, want −21", along, err)
	}
	fails := func(hand.Parameters[complex128]) (complex128, error) { return 0, errors.New("no") }
	if _, err := ComplexStep(fails, p); err == nil {
		t.Error("no error")
	}
	r := &Report{Parameters: 5, Rows: []Row{{parameter: "a", to: 2}, {parameter: "b", to: 1}}}
	if err := r.complexStep(unwatched(), cubes, p, want, sampling{few: 1}, 1); err != nil || !r.OK() ||
		!(r.Direction <= 1e-15) {
		t.Errorf("got %v, %v, %v", r.Failures, r.Direction, err)
	}
	want["b"].Data[0] *= 1 + 1e-8
	r.Direction, r.Failures = 0, nil
	if err := r.complexStep(unwatched(), cubes, p, want, sampling{few: 1}, 1); err != nil || r.OK() ||
		!strings.Contains(r.Failures[0], "along a random direction") {
		t.Errorf("got %v, %v, %v", r.Failures, r.Direction, err)
	}
	if err := r.complexStep(unwatched(), fails, p, want, sampling{few: 1}, 1); err == nil {
		t.Error("no error")
	}
	once := func() Objective {
		looks := 0
		return func(p hand.Parameters[complex128]) (complex128, error) {
			if looks++; looks > 5 {
				return 0, errors.New("the direction")
			}
			return cubes(p)
		}
	}
	if err := r.complexStep(unwatched(), once(), p, want, sampling{every: 5}, 1); err == nil ||
		err.Error() != "the direction" {
		t.Errorf("got %v", err)
	}
}
