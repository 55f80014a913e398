package graph

import (
	"math"

	"github.com/pkg/errors"
)

// NoneIgnored is the ignore argument of Scope.Ints if every id counts.
const NoneIgnored = math.MinInt

// idRange is the range in which the integers of an input must lie.
type idRange struct {
	limit, ignore int
	isLookup      bool // a row is looked up for every id, so no id may be ignored
}

// accepts reports whether the id is valid in a run.
func (r *idRange) accepts(id int) bool {
	return 0 <= id && id < r.limit || !r.isLookup && r.ignore != NoneIgnored && id == r.ignore
}

// check returns an error unless ids below the limit are indices of n rows or classes.
func (r *idRange) check(n int, what string) error {
	switch {
	case r == nil:
		return errors.New("want integers declared by Ints")
	case r.limit > n:
		return errors.Errorf("ids up to %d for %d %s", r.limit-1, n, what)
	}
	return nil
}
