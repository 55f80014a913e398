package structured

import (
	"math/rand/v2"
	"slices"

	"github.com/pkg/errors"
)

// Identity returns the only element of Σ1: every token attends to itself. (The paper has Σ1 = Iₙ where {Iₙ} is meant,
// errata C11.)
func Identity(n int) [][]float64 {
	x := zeros(n)
	for i := range x {
		x[i][i] = 1
	}
	return x
}

// Band draws from Σ2(w, p): entries with |i − j| ≤ w, each of them dropped with probability p. The paper leaves the
// values on the band open; here the remaining entries share the 1 of their row equally, and a row that has lost all of
// them keeps its diagonal, so that rows sum to 1 like those of A. A w of n or more counts as n − 1, the full matrix
// (errata C9).
func Band(n, w int, p float64, rng *rand.Rand) [][]float64 {
	if empty(rng) {
		return nil
	}
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
	x := Identity(n)
	if len(x) != n {
		return nil, errors.Errorf("columns: got a matrix of %d rows, want 0 … %d", n, maxRows)
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
	switch {
	case empty(rng):
		return nil, errors.New("groups: no generator to draw them with, want one of rand.New")
	case w < 1 || count < 0 || n > maxRows || count > n/w:
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

// Noise draws Ẽ of (20), (23): with probability share an entry is uniform in ±ε, otherwise 0.
func Noise(n int, epsilon, share float64, rng *rand.Rand) [][]float64 {
	if empty(rng) {
		return nil
	}
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

// Add returns P + Ẽ, both (n, n).
func Add(p, e [][]float64) [][]float64 {
	if !square(p, len(p)) || !square(e, len(p)) {
		return nil
	}
	x := zeros(len(p))
	for i, row := range x {
		for j := range row {
			row[j] = p[i][j] + e[i][j]
		}
	}
	return x
}

// empty reports whether rng cannot draw: the zero rand.Rand has no source and would panic.
func empty(rng *rand.Rand) bool { return rng == nil || *rng == rand.Rand{} }

// maxRows is far beyond any context whose weights are compared: such a matrix takes 2 GiB.
const maxRows = 1 << 14

func zeros(n int) [][]float64 {
	if n < 0 || n > maxRows {
		return nil
	}
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, n)
	}
	return x
}

// square reports whether a is (n, n).
func square(a [][]float64, n int) bool {
	return len(a) == n && !slices.ContainsFunc(a, func(row []float64) bool { return len(row) != n })
}

// clamp returns the effective half-width of a band in an (n, n) matrix.
func clamp(n, w int) int { return max(min(w, n-1), 0) }
