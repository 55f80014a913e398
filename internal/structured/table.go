package structured

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"text/tabwriter"

	"github.com/pkg/errors"
)

// Settings describes a comparison. The paper's two tables have Width 3 and Tokens 2, and Width 10 and Tokens 1, with
// 30 draws.
type Settings struct {
	Width   int     // w: half-width of the band, and rows of a group
	Tokens  int     // num-pos: groups in a matrix of Σ3
	Drop    float64 // p: probability that an entry of the band is dropped
	Epsilon float64 // ε: largest error
	Share   float64 // probability that an entry of Ẽ is not 0
	Draws   int     // from each set
	Seed    uint64
}

const maxDraws = 1_000_000 // each takes a pass over the matrix

// Validate returns an error that names a field that is out of range for (n, n) matrices.
func (s Settings) Validate(n int) error {
	switch {
	case s.Width < 1:
		return errors.Errorf("width: got %d, want 1 or more", s.Width)
	case n > maxRows:
		return errors.Errorf("weights: got %d rows, want at most %d", n, maxRows)
	case s.Tokens < 0 || s.Tokens > n/s.Width:
		return errors.Errorf("tokens: got %d groups of %d rows, want at most %d rows", s.Tokens, s.Width, n)
	case !(s.Drop >= 0 && s.Drop < 1):
		return errors.Errorf("drop: got %v, want a number in [0, 1)", s.Drop)
	case !(s.Epsilon >= 0 && s.Epsilon <= 1):
		return errors.Errorf("epsilon: got %v, want a number in [0, 1]", s.Epsilon)
	case !(s.Share >= 0 && s.Share <= 1):
		return errors.Errorf("share: got %v, want a number in [0, 1]", s.Share)
	case s.Draws < 1 || s.Draws > maxDraws:
		return errors.Errorf("draws: got %d, want 1 … %d", s.Draws, maxDraws)
	}
	return nil
}

// Row is one approximant of one head's weights.
type Row struct {
	Head        int     // from 0
	Approximant string  // "Σ1+Ẽ", "Σ2+Ẽ", "Σ3+Ẽ", "0", "I", "1/n", "band"
	Distance    float64 // |A − X|, the least of the draws
	Mean        float64 // per entry: Distance/n²
	Projection  float64 // |A − B| of the best band matrix B of the same width
}

// Table has seven rows for each head: the draws from the three sets, the baselines, and the best band matrix.
type Table []Row

// Compare approximates the weights of every head, all by the same draws, which the settings determine. An error names
// the head, row and column of an entry that cannot be a weight.
func Compare(heads [][][]float64, s Settings) (Table, error) {
	var table Table
	for h, a := range heads {
		n := len(a)
		if err := errors.Wrapf(s.Validate(n), "head %d", h); err != nil {
			return nil, err
		}
		if err := errors.Wrapf(stochastic(a), "head %d", h); err != nil {
			return nil, err
		}
		projection := offBand(a, s.Width)
		row := func(name string, distance float64) {
			table = append(table, Row{h, name, distance, distance / float64(n*n), projection})
		}
		for i, set := range s.sets(n) {
			nearest, rng := math.Inf(1), rand.New(rand.NewPCG(s.Seed, uint64(i)))
			for range s.Draws {
				p, err := set(rng)
				if err != nil {
					return nil, errors.Wrapf(err, "head %d", h)
				}
				nearest = min(nearest, distance(a, add(p, noise(n, s.Epsilon, s.Share, rng))))
			}
			row(fmt.Sprintf("Σ%d+Ẽ", i+1), nearest)
		}
		row("0", distance(a, zeros(n)))
		row("I", distance(a, identity(n)))
		row("1/n", distance(a, uniform(n)))
		row("band", projection)
	}
	return table, nil
}

// sets returns functions that draw from Σ1, Σ2 and Σ3 of (21).
func (s Settings) sets(n int) [3]func(*rand.Rand) ([][]float64, error) {
	return [3]func(*rand.Rand) ([][]float64, error){
		func(*rand.Rand) ([][]float64, error) { return identity(n), nil },
		func(rng *rand.Rand) ([][]float64, error) { return band(n, s.Width, s.Drop, rng), nil },
		func(rng *rand.Rand) ([][]float64, error) {
			groups, err := Groups(n, s.Width, s.Tokens, rng)
			if err != nil {
				return nil, err
			}
			return Columns(n, groups...)
		},
	}
}

func uniform(n int) [][]float64 {
	x := zeros(n)
	for _, row := range x {
		for j := range row {
			row[j] = 1 / float64(n)
		}
	}
	return x
}

// stochastic checks that the rows of a sum to 1, up to the rounding of float32.
func stochastic(a [][]float64) error {
	if len(a) == 0 {
		return errors.New("got no rows, want (n, n)")
	}
	for i, row := range a {
		if len(row) != len(a) {
			return errors.Errorf("row %d: got %d columns, want %d", i, len(row), len(a))
		}
		sum := 0.0
		for j, v := range row {
			if !(v >= 0 && v <= 1+1e-4) {
				return errors.Errorf("row %d, column %d: got weight %v, want a number in [0, 1]", i, j, v)
			}
			sum += v
		}
		if !(math.Abs(sum-1) <= 1e-4) {
			return errors.Errorf("row %d: got sum %v, want 1", i, sum)
		}
	}
	return nil
}

// String returns the table in columns.
func (t Table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "head\tX\t|A−X|\tmean\t|A−band|")
	for _, r := range t {
		fmt.Fprintf(w, "%d\t%s\t%.4f\t%.4f\t%.4f\n", r.Head, r.Approximant, r.Distance, r.Mean, r.Projection)
	}
	w.Flush() // into a Builder, which does not fail
	return b.String()
}
