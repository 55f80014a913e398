package attention

import "github.com/pedestrian-ml/pedestrian/graph/internal/kernel"

// Rule computes the rows of a mask that is not stored. Several threads call its functions at the same time.
type Rule[T kernel.Float] struct {
	// Row writes the entries of row i from column from on. The rows of all matrices are counted one after the other.
	Row func(i, from int, into []T)
	// Span returns the columns from … to−1 in which row i is 0, if it is −∞ in all others. Otherwise, or if only
	// computing the row would tell, ok is false. Span may be nil.
	Span func(i int) (from, to int, ok bool)
	// Changes is the number of times that the rows have changed.
	Changes uint64
}
