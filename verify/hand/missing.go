package hand

import "fmt"

// missing returns the error of a part of a literal that is nil.
func missing[T Number](what string) Matrix[T] {
	return Matrix[T]{Err: fmt.Errorf("hand: no %s, got nil", what)}
}

// head returns the one that Head makes, or, of none, one that is an error.
func (l Heads[T]) head(b, h int) Head[T] {
	if l.Head != nil {
		if own := l.Head(b, h); own != nil {
			return own
		}
	}
	return noHead[T]{}
}

// noHead stands for a head that is missing.
type noHead[T Number] struct{}

func (noHead[T]) Forward(_, _, _ Matrix[T]) Matrix[T] {
	return missing[T]("Head")
}

func (l noHead[T]) Backward(q, k, v, _ Matrix[T]) (dq, dk, dv Matrix[T]) {
	err := l.Forward(q, k, v)
	return err, err, err
}

// decoder is what Decoder makes, or of nil a stack that is an error.
func (m Model[T]) decoder(z Matrix[T]) Stack[T] {
	if m.Decoder == nil {
		return Stack[T]{Tokens: Embedding[T]{missing[T]("Decoder")}}
	}
	return m.Decoder(z)
}

// loss is what Loss makes, if there is one.
func (m Model[T]) loss(t Text) (l Layer[T]) {
	if m.Loss != nil {
		l = m.Loss(t.Targets)
	}
	return l
}

// masks returns those that Masks makes, or, of nil, an error.
func (l Longformer[T]) masks(b, h int) LongformerMask {
	if l.Masks == nil {
		return LongformerMask{Local: missing[float64]("Masks")}
	}
	return l.Masks(b, h)
}
