package hand

// Dropout multiplies by a fixed mask of 0 and 1/(1−p). Without a mask it is the identity, which is dropout outside
// training.
type Dropout[T Number] struct{ Mask Matrix[float64] }

// Forward returns x ∘ mask.
func (l Dropout[T]) Forward(x Matrix[T]) Matrix[T] {
	if l.Mask.None() {
		return x
	}
	return x.Mul(Lift[T](l.Mask))
}

// Backward returns Δ at the input: Δ flows where the activation flowed.
//
//	Δx = Δ ∘ mask
func (l Dropout[T]) Backward(_, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return l.Forward(delta), nil
}

// Head returns the dropout of n queries in head h of sequence b. The rows of the mask are ordered by sequence, head,
// query.
func (l Dropout[T]) Head(b, h, heads, n int) Dropout[T] {
	if l.Mask.None() {
		return l
	}
	rows := l.Mask.Rows
	if !shares(rows, n) || !shares(rows/n, heads) || h < 0 || h >= heads || b < 0 || b >= rows/n/heads {
		return Dropout[T]{failed[float64]("%d queries of head %d of %d, sequence %d, in a mask (%d, %d)",
			n, h, heads, b, rows, l.Mask.Cols)}
	}
	from := (b*heads + h) * n
	return Dropout[T]{l.Mask.Tokens(from, from+n)}
}
