package structured

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample returns a row-stochastic matrix without structure.
func sample(n int, seed uint64) [][]float64 {
	rng, a := rand.New(rand.NewPCG(seed, 0)), zeros(n)
	for _, row := range a {
		sum := 0.0
		for j := range row {
			row[j] = math.Exp(2 * rng.NormFloat64())
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
	}
	return a
}

func paper() Settings {
	return Settings{Width: 3, Tokens: 2, Drop: 0.3, Epsilon: 0.05, Share: 0.1, Draws: 30, Seed: 7}
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*max(1, math.Abs(want))) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// The dimension of a band is the number of its entries, even if w exceeds the matrix.
func TestI48Dimension(t *testing.T) {
	for _, c := range [][3]int{{16, 3, 100}, {16, 10, 226}, {4, 1, 10}, {5, 4, 25}, {5, 9, 25}, {1, 0, 1}} {
		if got := Dimension(c[0], c[1]); got != c[2] {
			t.Errorf("n %d, w %d: got %d, want %d", c[0], c[1], got, c[2])
		}
	}
	for n := 1; n < 20; n++ {
		for w := range 2 * n {
			count := 0
			for i := range n {
				for j := range n {
					if i <= j+w && j <= i+w {
						count++
					}
				}
			}
			if got := Dimension(n, w); got != count {
				t.Errorf("n %d, w %d: got %d, want %d", n, w, got, count)
			}
		}
	}
}

// A on the band is the best band matrix: its distance is the mass outside, and no other band matrix is nearer.
func TestI48Projection(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, c := range [][2]int{{7, 0}, {7, 2}, {16, 3}, {16, 10}, {5, 4}, {5, 9}} {
		n, w := c[0], c[1]
		a := sample(n, uint64(n*w))
		best := project(a, w)
		equal(t, "distance of the projection", distance(a, best), offBand(a, w))
		if w >= n-1 && offBand(a, w) != 0 {
			t.Errorf("n %d, w %d: got %v outside of the full band", n, w, offBand(a, w))
		}
		for range 100 {
			other := project(add(best, noise(n, math.Pow(10, -4*rng.Float64()), 0.5, rng)), w)
			if moved := distance(best, other); !(math.Abs(distance(a, other)-offBand(a, w)-moved) <= 1e-12) ||
				moved == 0 {
				t.Fatalf("n %d, w %d: got distance %v, want %v + %v", n, w, distance(a, other), offBand(a, w), moved)
			}
			if drawn := distance(a, band(n, w, 0.3, rng)); !(drawn >= offBand(a, w)) {
				t.Fatalf("n %d, w %d: a draw is at %v, nearer than the best, %v", n, w, drawn, offBand(a, w))
			}
		}
	}
}

// Uniform weights and the identity have known distances; the distance from 0 is n for every A.
func TestI48Baselines(t *testing.T) {
	const n = 16
	s := paper()
	s.Epsilon = 0
	table, err := Compare([][][]float64{uniform(n), identity(n), sample(n, 3)}, s)
	if err != nil {
		t.Fatal(err)
	}
	outside := float64(n*n-100) / n
	want := map[string][3]float64{
		"Σ1+Ẽ": {2 * (n - 1), 0}, "0": {n, n, n}, "I": {2 * (n - 1), 0}, "1/n": {0, 2 * (n - 1)}, "band": {outside, 0},
	}
	checked := 0
	for _, r := range table {
		equal(t, "mean", r.Mean, r.Distance/256)
		if values, ok := want[r.Approximant]; ok && (r.Head < 2 || r.Approximant == "0") {
			equal(t, r.Approximant, r.Distance, values[r.Head])
			checked++
		}
		if r.Head == 0 {
			equal(t, "projection", r.Projection, outside)
		}
	}
	if len(table) != 3*7 || checked != 11 {
		t.Errorf("got %d rows and checked %d, want 21 and 11", len(table), checked)
	}
}

// Two matrices of the set are at most (1+2ε)n1 + 2εn2 apart, and some are: the printed n1 + εn2 is too small.
func TestI48Bound(t *testing.T) {
	const n, w, epsilon = 4, 1, 0.1
	high, low := zeros(n), zeros(n)
	for i := range n {
		for j := range n {
			high[i][j], low[i][j] = epsilon, -epsilon
			if i <= j+w && j <= i+w {
				high[i][j]++
			}
		}
	}
	equal(t, "bound", Bound(n, w, epsilon), 13.2)
	equal(t, "farthest", distance(high, low), Bound(n, w, epsilon))
	if printed := 10 + epsilon*6; !(distance(high, low) > printed) {
		t.Errorf("got %v, want more than the printed %v", distance(high, low), printed)
	}
	rng := rand.New(rand.NewPCG(2, 0))
	for range 200 {
		x := add(band(n, w, rng.Float64(), rng), noise(n, epsilon, 0.5, rng))
		y := add(band(n, w, rng.Float64(), rng), noise(n, epsilon, 0.5, rng))
		if d := distance(x, y); !(d <= Bound(n, w, epsilon)) {
			t.Errorf("got %v, want at most %v", d, Bound(n, w, epsilon))
		}
	}
}

// Every matrix of the three sets has rows that sum to 1. A matrix of Σ2 stays on its band and loses the share p of it.
// The number of ones off the diagonal in a matrix of Σ3 is the number of rows of its groups without their tokens.
func TestI48Sets(t *testing.T) {
	const n, w, count, p = 16, 3, 4, 0.3
	rng := rand.New(rand.NewPCG(3, 0))
	kept, tokens := 0, map[int]bool{}
	for range 200 {
		band := band(n, w, p, rng)
		if err := stochastic(band); err != nil || offBand(band, w) != 0 {
			t.Fatalf("Σ2: %v, %v outside of the band", err, offBand(band, w))
		}
		for _, row := range band {
			for _, v := range row {
				if v > 0 {
					kept++
				}
			}
		}
		groups, err := Groups(n, w, count, rng)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := Columns(n, groups...)
		if err != nil {
			t.Fatal(err)
		}
		if err := stochastic(columns); err != nil || offBand(columns, w-1) != 0 {
			t.Fatalf("Σ3: %v, %v outside of the band", err, offBand(columns, w-1))
		}
		equal(t, "Σ3 and I", distance(columns, identity(n)), 2*count*(w-1))
		for _, g := range groups {
			tokens[g.Token] = true
		}
	}
	if share := float64(kept) / (200 * 100); !(math.Abs(share-(1-p)) <= 0.02) {
		t.Errorf("Σ2: kept %v of the band, want about %v", share, 1-p)
	}
	if len(tokens) != n {
		t.Errorf("Σ3: drew %d of %d tokens", len(tokens), n)
	}
	got, err := Columns(5, Group{Token: 2, From: 1, To: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]float64{{1, 0, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 0, 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Σ3: %s", diff)
	}
}

// A matrix of a set plus noise is found to be near it, and the table shows which set.
func TestI48Recognises(t *testing.T) {
	const n, w = 16, 3
	s := paper()
	heads := [][][]float64{identity(n), band(n, w, 0, rand.New(rand.NewPCG(0, 0))), nil}
	var err error
	if heads[2], err = Columns(n, Group{4, 3, 6}, Group{11, 10, 13}); err != nil {
		t.Fatal(err)
	}
	s.Drop, s.Draws = 0, 3000 // of some 400 pairs of places for the groups, 9 pairs of tokens each
	table, err := Compare(heads, s)
	if err != nil {
		t.Fatal(err)
	}
	for h := range heads {
		if d := table[7*h+h].Distance; !(d <= s.Epsilon*n*n*3*s.Share) {
			t.Errorf("head %d: Σ%d is at %v, want it near", h, h+1, d)
		}
	}
}

// The same settings give the same table, bit by bit, and a head's rows do not depend on the heads after it.
func TestI48Deterministic(t *testing.T) {
	heads := [][][]float64{sample(16, 1), sample(16, 2), sample(16, 3)}
	first, err := Compare(heads, paper())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Compare(heads[:2], paper())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first[:14], again); diff != "" {
		t.Error(diff)
	}
	s := paper()
	s.Seed++
	other, err := Compare(heads, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range first {
		if drawn := strings.HasPrefix(r.Approximant, "Σ"); drawn == (r == other[i]) {
			t.Errorf("row %d, %s: another seed gives %v after %v", i, r.Approximant, other[i].Distance, r.Distance)
		}
	}
}

// Bad input is an error that names the field and both numbers.
func TestI48Errors(t *testing.T) {
	change := func(f func(*Settings)) Settings {
		s := paper()
		f(&s)
		return s
	}
	ragged, negative, short := sample(16, 1), sample(16, 1), sample(16, 1)
	ragged[2], negative[3][4], short[5][6] = ragged[2][:15], -0.25, 0.999
	for want, c := range map[string]struct {
		a [][]float64
		s Settings
	}{
		"head 0: width: got 0, want 1 or more": {sample(16, 1), change(func(s *Settings) { s.Width = 0 })},
		"head 0: tokens: got 6 groups of 3 rows, want at most 16 rows": {
			sample(16, 1), change(func(s *Settings) { s.Tokens = 6 }),
		},
		"head 0: drop: got 1, want a number in [0, 1)": {sample(16, 1), change(func(s *Settings) { s.Drop = 1 })},
		"head 0: epsilon: got NaN, want a number in [0, 1]": {
			sample(16, 1), change(func(s *Settings) { s.Epsilon = math.NaN() }),
		},
		"head 0: share: got 2, want a number in [0, 1]": {sample(16, 1), change(func(s *Settings) { s.Share = 2 })},
		"head 0: draws: got 0, want 1 … 1000000":        {sample(16, 1), change(func(s *Settings) { s.Draws = 0 })},
		"head 0: draws: got 1000001, want 1 … 1000000": {
			sample(16, 1), change(func(s *Settings) { s.Draws = 1_000_001 }),
		},
		"head 0: tokens: got 4611686018427387904 groups of 4 rows": {sample(16, 1), change(func(s *Settings) {
			s.Tokens = 1 << 62
			s.Width = 4
		})},
		"head 0: weights: got 16385 rows, want at most 16384":                {make([][]float64, 16385), paper()},
		"head 0: row 2: got 15 columns, want 16":                             {ragged, paper()},
		"head 0: row 3, column 4: got weight -0.25, want a number in [0, 1]": {negative, paper()},
		"head 0: row 5: got sum 1.":                                          {short, paper()},
		"head 0: tokens: got 2 groups of 3 rows, want at most 0 rows":        {nil, paper()},
	} {
		if _, err := Compare([][][]float64{c.a}, c.s); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for want, groups := range map[string][]Group{
		"group: got rows 3 to 6 around token 6, want 8 tokens that contain it": {{6, 3, 6}},
		"group: got rows 7 to 9 around token 7, want 8 tokens that contain it": {{7, 7, 9}},
		"group around token 4: row 3 belongs to another group":                 {{2, 1, 4}, {4, 3, 5}},
	} {
		if _, err := Columns(8, groups...); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Arguments that are no matrix, and generators that cannot draw, are errors that name them; the functions neither panic
// nor allocate more than any context needs.
func TestNoMatrix(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	ragged, huge := [][]float64{{1, 2}, {3}}, 1<<40
	for i, c := range []struct {
		call func() ([][]float64, error)
		want string
	}{
		{func() ([][]float64, error) { return Identity(-1) }, "got a matrix of -1 rows, want 0 … 16384"},
		{func() ([][]float64, error) { return Identity(huge) }, "got a matrix of 1099511627776 rows"},
		{func() ([][]float64, error) { return Band(-1, 3, 0.5, rng) }, "band: got a matrix of -1 rows"},
		{func() ([][]float64, error) { return Band(huge, huge, 0.5, rng) }, "band: got a matrix of 1099511627776 rows"},
		{
			func() ([][]float64, error) { return Band(3, 1, 0.5, nil) },
			"band: no generator to draw with, want one of rand.New",
		},
		{func() ([][]float64, error) { return Band(3, 1, 0.5, new(rand.Rand)) }, "band: no generator"},
		{func() ([][]float64, error) { return Noise(-1, 1, 1, rng) }, "noise: got a matrix of -1 rows"},
		{func() ([][]float64, error) { return Noise(huge, 1, 1, rng) }, "noise: got a matrix of 1099511627776 rows"},
		{func() ([][]float64, error) { return Noise(3, 1, 1, nil) }, "noise: no generator"},
		{func() ([][]float64, error) { return Add(ragged, identity(2)) }, "p: row 1: got 1 columns, want 2"},
		{func() ([][]float64, error) { return Add(identity(2), ragged) }, "e: row 1: got 1 columns, want 2"},
		{func() ([][]float64, error) { return Add(identity(2), nil) }, "e: got 0 rows, want 2"},
		{
			func() ([][]float64, error) { return Band(3, 1, math.NaN(), rng) },
			"band: p: got NaN, want a number in [0, 1]",
		},
		{func() ([][]float64, error) { return Noise(3, -1, 1, rng) }, "noise: epsilon: got -1"},
		{func() ([][]float64, error) { return Noise(3, 1, 2, rng) }, "noise: share: got 2"},
		{
			func() ([][]float64, error) { return Project([][]float64{{math.NaN()}}, 0) },
			"a: row 0, column 0: got NaN, want a finite number",
		},
		{func() ([][]float64, error) { return Project(ragged, 1) }, "a: row 1: got 1 columns, want 2"},
	} {
		if x, err := c.call(); x != nil || err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%d: got %v and error %v, want %s", i, x, err, c.want)
		}
	}
	for i, c := range []struct {
		call func() (float64, error)
		want string
	}{
		{func() (float64, error) { return Distance(ragged, identity(2)) }, "a: row 1: got 1 columns, want 2"},
		{func() (float64, error) { return Distance(identity(2), ragged) }, "x: row 1: got 1 columns, want 2"},
		{func() (float64, error) { return Distance(identity(2), nil) }, "x: got 0 rows, want 2"},
		{func() (float64, error) { return Distance(identity(2), identity(3)) }, "x: got 3 rows, want 2"},
		{func() (float64, error) { return OffBand(ragged, 0) }, "a: row 1: got 1 columns, want 2"},
	} {
		if _, err := c.call(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%d: got error %v, want %s", i, err, c.want)
		}
	}
	best, err := Project([][]float64{{1, 2}, {3, 4}}, 0)
	far, err2 := OffBand([][]float64{{1, 2}, {3, 4}}, 0)
	sum, err3 := Add(best, identity(2))
	distance, err4 := Distance(sum, best)
	if err != nil || err2 != nil || err3 != nil || err4 != nil || far != 5 || sum[1][1] != 5 || distance != 2 {
		t.Errorf(
			"got %v, %v away, %v, %v apart; errors %v, %v, %v, %v", best, far, sum, distance, err, err2, err3, err4,
		)
	}
	for want, f := range map[string]func() error{
		"columns: got a matrix of -1 rows, want 0 … 16384": func() error { _, err := Columns(-1); return err },
		"columns: got a matrix of 1099511627776 rows":      func() error { _, err := Columns(huge); return err },
		"groups: no generator":                             func() error { _, err := Groups(8, 2, 2, nil); return err },
		"groups: got 4 of 4611686018427387904 rows": func() error {
			_, err := Groups(8, 1<<62, 4, rng)
			return err
		},
		"groups: got 1 of 1 rows, want at most": func() error { _, err := Groups(huge, 1, 1, rng); return err },
	} {
		if err := f(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
