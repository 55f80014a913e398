package dist

import (
	"math/bits"

	"github.com/pkg/errors"
)

// piece is how many numbers go at a time: what is received waits in so much memory, not in as much as is summed.
const piece = 1 << 17

// group is a Group whose sums are its own, because an engine may choose another order of adding from one call to the
// next, and with it other bits.
type group struct {
	Link
	received []float32
}

// Over is the Group of the ranks of a link, whose number has to be a power of two.
func Over(link Link) (Group, error) {
	if link == nil {
		return nil, errors.New("dist: no link (nil)")
	}
	n, rank := link.Size(), link.Rank()
	if err := CheckSize(n); err != nil {
		return nil, err
	}
	if rank < 0 || rank >= n {
		return nil, errors.Errorf("dist: got rank %d, want 0 to %d", rank, n-1)
	}
	return &group{Link: link}, nil
}

// CheckSize is an error unless n ranks can be a group: the tree of sums needs a power of two.
func CheckSize(n int) error {
	if n >= 1 && n&(n-1) == 0 {
		return nil
	}
	if n < 1 {
		return errors.Errorf("dist: got %d ranks, want at least 1", n)
	}
	below := 1 << (bits.Len(uint(n)) - 1)
	return errors.Errorf("dist: got %d ranks, want a power of two: %d or %d", n, below, 2*below)
}

// Sum halves and doubles (Rabenseifner 2004): in every round a rank and its peer of the tree each add up a half of what
// they were left with, until everyone has one part of the whole sum; then the parts go back the same way. Everyone sends
// 2(N−1)/N of x. Of two numbers it does not matter which is added to which.
func (g *group) Sum(x []float32) error {
	type halves struct{ from, middle, to int }
	var rounds []halves
	from, to := 0, len(x)
	for bit := 1; bit < g.Size(); bit *= 2 {
		r := halves{from, (from + to) / 2, to}
		rounds = append(rounds, r)
		mine, theirs := x[r.from:r.middle], x[r.middle:r.to]
		from, to = r.from, r.middle
		if g.Rank()&bit != 0 {
			mine, theirs, from, to = theirs, mine, r.middle, r.to
		}
		if err := g.add(g.Rank()^bit, theirs, mine); err != nil {
			return errors.Wrap(err, "sum")
		}
	}
	for i := len(rounds) - 1; i >= 0; i-- {
		bit, r := 1<<i, rounds[i]
		mine, theirs := x[r.from:r.middle], x[r.middle:r.to]
		if g.Rank()&bit != 0 {
			mine, theirs = theirs, mine
		}
		if err := g.Exchange(g.Rank()^bit, mine, theirs); err != nil {
			return errors.Wrap(err, "sum")
		}
	}
	return nil
}

// add sends theirs to the peer, and adds to mine what comes from it, piece by piece.
func (g *group) add(peer int, theirs, mine []float32) error {
	if g.received == nil {
		g.received = make([]float32, piece)
	}
	for len(theirs) > 0 || len(mine) > 0 {
		out, in := min(piece, len(theirs)), min(piece, len(mine))
		if err := g.Exchange(peer, theirs[:out], g.received[:in]); err != nil {
			return err
		}
		for i, v := range g.received[:in] {
			mine[i] += v
		}
		theirs, mine = theirs[out:], mine[in:]
	}
	return nil
}

// Share doubles the ranks that have x in every round.
func (g *group) Share(x []float32, root int) error {
	if root < 0 || root >= g.Size() {
		return errors.Errorf("share: got rank %d as root, want 0 to %d", root, g.Size()-1)
	}
	from := g.Rank() ^ root // as if root were 0
	for bit := 1; bit < g.Size(); bit *= 2 {
		var err error
		switch {
		case from < bit:
			err = g.Exchange(g.Rank()^bit, x, nil)
		case from < 2*bit:
			err = g.Exchange(g.Rank()^bit, nil, x)
		}
		if err != nil {
			return errors.Wrap(err, "share")
		}
	}
	return nil
}

// Barrier is a sum that every rank has a part in.
func (g *group) Barrier() error { return errors.Wrap(g.Sum(make([]float32, g.Size())), "barrier") }
