package dist

import (
	"slices"

	"github.com/pkg/errors"
)

// Sum halves and doubles (Rabenseifner 2004): first each rank computes one part of the sum, then the ranks exchange the
// parts. Each rank sends 2(N−1)/N of x.
func (g *group) Sum(x []float32) error {
	if g.fast {
		return errors.Wrap(g.sumFast(x), "sum")
	}
	borders := make([]int, g.Size()+1)
	for part := range slices.Chunk(x, large) { // so that the numbers to send back are still in the cache
		for i := range borders {
			borders[i] = i * len(part) / g.Size()
		}
		if err := g.halve(part, borders); err != nil {
			return errors.Wrap(err, "sum")
		}
		if err := g.double(part, borders); err != nil {
			return errors.Wrap(err, "sum")
		}
	}
	return nil
}

// sumFast computes the engine's sum, in pieces that each finish within the Timeout.
func (g *group) sumFast(x []float32) error {
	for part := range slices.Chunk(x, large) {
		if err := g.Link.(adder).Add(part); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) Scatter(x []float32, borders []int) error {
	if err := g.checkBorders(x, borders); err != nil {
		return errors.Wrap(err, "scatter")
	}
	if g.fast {
		return errors.Wrap(g.sumFast(x), "scatter")
	}
	return errors.Wrap(g.halve(x, borders), "scatter")
}

func (g *group) Gather(x []float32, borders []int) error {
	if err := g.checkBorders(x, borders); err != nil {
		return errors.Wrap(err, "gather")
	}
	return errors.Wrap(g.double(x, borders), "gather")
}

func (g *group) checkBorders(x []float32, borders []int) error {
	n := g.Size()
	if len(borders) != n+1 || !slices.IsSorted(borders) || borders[0] != 0 || borders[n] != len(x) {
		return errors.Errorf("got borders %v, want %d that go from 0 to %d", borders, n+1, len(x))
	}
	return nil
}

// Part returns the rank's bits in reverse order, because ranks that differ in their lowest bit divide x first.
func (g *group) Part() (part int) {
	for bit := 1; bit < g.Size(); bit *= 2 {
		if part *= 2; g.Rank()&bit != 0 {
			part++
		}
	}
	return part
}
