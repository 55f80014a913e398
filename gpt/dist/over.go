package dist

import (
	"math/bits"

	"github.com/pkg/errors"
)

// group is a Group that computes its sums itself, because an engine may change the order of adding, and thus the bits,
// from one call to the next.
type group struct {
	Link
	fast     bool
	plus     func(x, y []float32) error
	received []float32
}

// Over returns the Group of the ranks of a link, whose number must be a power of two.
func Over(link Link, o Options) (Group, error) {
	if link == nil {
		return nil, errors.New("dist: no link (nil)")
	}
	if err := o.check(link); err != nil {
		return nil, err
	}
	n, rank := link.Size(), link.Rank()
	if err := CheckSize(n); err != nil {
		return nil, err
	}
	if rank < 0 || rank >= n {
		return nil, errors.Errorf("dist: got rank %d, want 0 to %d", rank, n-1)
	}
	plus := inTurn
	if v, ok := link.(local); ok {
		plus = v.Plus
	}
	if o.Timeout > 0 && n > 1 {
		link = newWithin(link, o.Timeout)
	}
	return &group{Link: link, fast: o.Fast && n > 1, plus: plus}, nil
}

// CheckSize returns an error unless n ranks can be a group: the tree of sums needs a power of two.
func CheckSize(n int) error {
	if n < 1 {
		return errors.Errorf("dist: got %d ranks, want at least 1", n)
	}
	if below := 1 << (bits.Len(uint(n)) - 1); n != below {
		return errors.Errorf("dist: got %d ranks, want a power of two: %d or %d", n, below, 2*below)
	}
	return nil
}

// Share doubles the number of ranks that have x in every round.
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

// Barrier computes a sum to which every rank contributes.
func (g *group) Barrier() error { return errors.Wrap(g.Sum(make([]float32, g.Size())), "barrier") }
