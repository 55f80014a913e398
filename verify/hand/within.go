package hand

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
