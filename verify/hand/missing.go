package hand

import "fmt"

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

// decoder returns the result of Decoder, or a stack with an error if Decoder is nil.
func (m Model[T]) decoder(z Matrix[T]) Stack[T] {
	if m.Decoder == nil {
		return Stack[T]{Tokens: Embedding[T]{missing[T]("Decoder")}}
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
func (l Longformer[T]) masks(b, h int) LongformerMask {
	if l.Masks == nil {
		return LongformerMask{Local: missing[float64]("Masks")}
	}
	return l.Masks(b, h)
}
