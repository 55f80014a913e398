package verify

// DropoutForward multiplies with a fixed mask of 0 and 1/(1−p); no mask is the
// identity, which is dropout outside training.
func DropoutForward[T Number](x Matrix[T], mask Matrix[float64]) Matrix[T] {
	if mask.None() {
		return x
	}
	return x.Mul(Lift[T](mask))
}

// DropoutBackward returns Δ at the input: it goes where the activation went.
//
//	Δx = Δ ∘ mask
func DropoutBackward[T Number](mask Matrix[float64], delta Matrix[T]) Matrix[T] {
	return DropoutForward(delta, mask)
}
