package hand

import (
	"errors"
	"fmt"
)

// missing returns the error for a nil part of a literal.
func missing[T Number](what string) Matrix[T] {
	return Matrix[T]{Err: fmt.Errorf("hand: no %s, got nil", what)}
}

// head returns the result of Head, or a head that returns an error if there is none.
func (l Heads[T]) head(b, h int) Head[T] {
	if l.Head != nil {
		if own := l.Head(b, h); own != nil {
			return own
		}
	}
	return noHead[T]{}
}

// noHead is a Head that returns an error, for a missing one.
type noHead[T Number] struct{}

func (noHead[T]) Forward(_, _, _ Matrix[T]) Matrix[T] {
	return missing[T]("Head")
}

func (l noHead[T]) Backward(q, k, v, _ Matrix[T]) (dq, dk, dv Matrix[T]) {
	err := l.Forward(q, k, v)
	return err, err, err
}

func (noHead[T]) ShiftInvariant() bool { return false }

// decoder returns the result of Decoder, or a stack with an error if Decoder is nil.
func (m Model[T]) decoder(z Matrix[T]) Stack[T] {
	if m.Decoder == nil {
		return Stack[T]{Embeddings: Embeddings[T]{Tokens[T]{Weight: missing[T]("Decoder")}}}
	}
	return m.Decoder(z)
}

// loss returns the result of Loss, or nil if Loss is nil.
func (m Model[T]) loss(t Text) (l Layer[T]) {
	if m.Loss != nil {
		l = m.Loss(t.Targets)
	}
	return l
}

// masks returns the result of Masks, or an error if Masks is nil.
func (l Windows[T]) masks(b, h int) LongformerMask {
	if l.Masks == nil {
		return LongformerMask{Local: missing[float64]("Masks")}
	}
	return l.Masks(b, h)
}

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

// forward returns the layer's Forward of x. It puts the layer's name before an error that arises in it or because l is
// nil.
func forward[T Number](name string, l Layer[T], x Matrix[T]) Matrix[T] {
	if l == nil {
		return within(name, x, missing[T]("layer"))
	}
	return within(name, x, l.Forward(x))
}

// backward returns the layer's Backward, or an error if l is nil.
func backward[T Number](name string, l Layer[T], x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	if l == nil {
		return within(name, delta, missing[T]("layer")), nil
	}
	return l.Backward(x, delta)
}

// located is an error with the place where it arose.
type located struct {
	path string
	err  error
}

func (e located) Error() string { return e.path + ": " + e.err.Error() }
func (e located) Unwrap() error { return e.err }

// within puts the name of a layer before an error that arose in it, given its input.
func within[T Number](name string, x, y Matrix[T]) Matrix[T] {
	switch inner, ok := y.Err.(located); {
	case x.Err != nil:
		return x
	case ok:
		y.Err = located{name + "." + inner.path, inner.err}
	case y.Err != nil:
		y.Err = located{name, y.Err}
	}
	return y
}
