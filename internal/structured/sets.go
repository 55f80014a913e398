package structured

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"
)

// Identity returns the only element of Σ1: every token attends to itself. (The paper has Σ1 = Iₙ where {Iₙ} is meant,
// errata C11.) It is an error if n is not 0 … 16384.
func Identity(n int) ([][]float64, error) {
	if err := checkRows(n); err != nil {
		return nil, err
	}
	return identity(n), nil
}

func identity(n int) [][]float64 {
	x := zeros(n)
	for i := range x {
		x[i][i] = 1
	}
	return x
}

// Band draws from Σ2(w, p): entries with |i − j| ≤ w, each of them dropped with probability p. The paper leaves the
// values on the band open; here the remaining entries share the 1 of their row equally, and a row that has lost all of
// them keeps its diagonal, so that rows sum to 1 like the rows of A. A w of n or more counts as n − 1, the full matrix
// (errata C9). It is an error if n is not 0 … 16384, if p is not in [0, 1], or if there is no generator.
func Band(n, w int, p float64, rng *rand.Rand) ([][]float64, error) {
	if err := cmp.Or(checkRows(n), checkShare("p", p), checkGenerator(rng)); err != nil {
		return nil, errors.Wrap(err, "band")
	}
	return band(n, w, p, rng), nil
}

func band(n, w int, p float64, rng *rand.Rand) [][]float64 {
	w = clamp(n, w)
	x := zeros(n)
	for i, row := range x {
		kept := 0
		for j := max(i-w, 0); j <= min(i+w, n-1); j++ {
			if rng.Float64() >= p {
				row[j] = 1
				kept++
			}
		}
		if kept == 0 {
			row[i], kept = 1, 1
		}
		for j := range row {
			row[j] /= float64(kept)
		}
	}
	return x
}

// Group is a set of tokens, from From up to but excluding To, that all attend to Token, which is one of them.
type Group struct{ Token, From, To int }

// Columns returns the element of Σ3(T, W) with these groups, T their tokens and W their numbers of rows: the identity,
// except for a column of ones in each group. It fails if a group leaves the matrix, lacks its token, or overlaps
// another group.
func Columns(n int, groups ...Group) ([][]float64, error) {
	x, err := Identity(n)
	if err != nil {
		return nil, errors.Wrap(err, "columns")
	}
	used := make([]bool, n)
	for _, g := range groups {
		if g.From < 0 || g.To > n || g.Token < g.From || g.Token >= g.To {
			return nil, errors.Errorf("group: got rows %d to %d around token %d, "+
				"want %d tokens that contain it",
				g.From, g.To, g.Token, n)
		}
		for i := g.From; i < g.To; i++ {
			if used[i] {
				return nil, errors.Errorf("group around token %d: row %d belongs to another group", g.Token, i)
			}
			used[i], x[i][i], x[i][g.Token] = true, 0, 1
		}
	}
	return x, nil
}

// Groups draws count disjoint groups of w rows each, all positions equally likely, and the token of each.
func Groups(n, w, count int, rng *rand.Rand) ([]Group, error) {
	if err := checkGenerator(rng); err != nil {
		return nil, errors.Wrap(err, "groups")
	}
	if w < 1 || count < 0 || n > maxRows || count > n/w {
		return nil, errors.Errorf("groups: got %d of %d rows, want at most %d rows", count, w, n)
	}
	slots := rng.Perm(n - count*(w-1))[:count] // a group shrunk to one row each
	slices.Sort(slots)
	groups := make([]Group, count)
	for i, slot := range slots {
		from := slot + i*(w-1)
		groups[i] = Group{Token: from + rng.IntN(w), From: from, To: from + w}
	}
	return groups, nil
}

// Noise draws Ẽ of (20), (23): with probability share an entry is uniform in ±ε, otherwise 0. It is an error if n is
// not 0 … 16384, if ε or share is not in [0, 1], or if there is no generator.
func Noise(n int, epsilon, share float64, rng *rand.Rand) ([][]float64, error) {
	err := cmp.Or(checkRows(n), checkShare("epsilon", epsilon), checkShare("share", share), checkGenerator(rng))
	if err != nil {
		return nil, errors.Wrap(err, "noise")
	}
	return noise(n, epsilon, share, rng), nil
}

func noise(n int, epsilon, share float64, rng *rand.Rand) [][]float64 {
	x := zeros(n)
	for _, row := range x {
		for j := range row {
			if rng.Float64() < share {
				row[j] = epsilon * (2*rng.Float64() - 1)
			}
		}
	}
	return x
}

// Add returns P + Ẽ. It is an error unless both are (n, n) and finite.
func Add(p, e [][]float64) ([][]float64, error) {
	if err := cmp.Or(checkSquare("p", p, len(p)), checkSquare("e", e, len(p))); err != nil {
		return nil, err
	}
	return add(p, e), nil
}

func add(p, e [][]float64) [][]float64 {
	x := zeros(len(p))
	for i, row := range x {
		for j := range row {
			row[j] = p[i][j] + e[i][j]
		}
	}
	return x
}

// checkGenerator returns an error if rng cannot draw: the zero rand.Rand has no source and would panic.
func checkGenerator(rng *rand.Rand) error {
	if rng == nil || *rng == (rand.Rand{}) {
		return errors.New("no generator to draw with, want one of rand.New")
	}
	return nil
}

// maxRows is far beyond any context whose weights are compared: such a matrix takes 2 GiB.
const maxRows = 1 << 14

func checkRows(n int) error {
	if n < 0 || n > maxRows {
		return errors.Errorf("got a matrix of %d rows, want 0 … %d", n, maxRows)
	}
	return nil
}

func zeros(n int) [][]float64 {
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, n)
	}
	return x
}

// checkSquare returns an error unless a is (n, n) and finite.
func checkSquare(name string, a [][]float64, n int) error {
	if len(a) != n || n > maxRows {
		return errors.Errorf("%s: got %d rows, want %d, at most %d", name, len(a), n, maxRows)
	}
	for i, row := range a {
		if len(row) != n {
			return errors.Errorf("%s: row %d: got %d columns, want %d", name, i, len(row), n)
		}
		for j, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return errors.Errorf("%s: row %d, column %d: got %v, want a finite number", name, i, j, v)
			}
		}
	}
	return nil
}

// checkShare returns an error unless x is a number in [0, 1].
func checkShare(name string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return errors.Errorf("%s: got %v, want a number in [0, 1]", name, x)
	}
	return nil
}

// clamp returns the effective half-width of a band in an (n, n) matrix.
func clamp(n, w int) int { return max(min(w, n-1), 0) }
