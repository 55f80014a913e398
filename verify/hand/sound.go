package hand

import (
	"errors"
	"fmt"
)

// ErrShape is wrapped by every error about shapes that do not fit.
var ErrShape = errors.New("hand: shapes do not fit")

// sound returns x. If x carries an error, or if its Data are not Rows·Cols entries, as in a wrong literal, sound
// returns an empty matrix with that error, over which loops do nothing. Every operation that reads Data begins with
// sound.
func (x Matrix[T]) sound() Matrix[T] {
	if x.Err != nil {
		return Matrix[T]{Err: x.Err}
	}
	if !possible(x.Rows, x.Cols) || len(x.Data) != x.Rows*x.Cols {
		return failed[T]("matrix (%d, %d) from %d values", x.Rows, x.Cols, len(x.Data))
	}
	return x
}

// possible reports whether a matrix (rows, cols) can exist. More than 2³⁰ entries are a mistake, which is rejected
// before memory is allocated for it.
func possible(rows, cols int) bool {
	const most = 1 << 30
	return rows >= 0 && rows <= most && cols >= 0 && cols <= most/max(rows, 1)
}

// shares reports whether n rows or columns divide into the given number of equal, non-empty parts.
func shares(n, parts int) bool { return parts > 0 && parts <= n && n%parts == 0 }

// firstErr returns the first error of the matrices. A formula needs it if its sums would be empty without their rows.
func firstErr[T Number](xs ...Matrix[T]) error {
	for _, x := range xs {
		if x = x.sound(); x.Err != nil {
			return x.Err
		}
	}
	return nil
}

func failed[T Number](format string, args ...any) Matrix[T] {
	return Matrix[T]{Err: fmt.Errorf("%w: "+format, append([]any{ErrShape}, args...)...)}
}
