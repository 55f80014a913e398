package hand

import "slices"

// ShortConv is a causal convolution of every feature by itself, with a weight for the token and for each of the tokens
// before it:
//
//	y_t = Σ_i w_i ∘ x_{t−i}    (n, d)          x_t = 0 for t < 0, in each sequence
type ShortConv[T Number] struct {
	Weight Matrix[T] // [w_0 | w_1 | …] (1, k·d)
	Length int       // of a sequence
	Before Matrix[T] // x before the first token, constants; zeros if it is the zero Matrix  (B, (k−1)·d)
}

// shortConv returns the short convolution at.conv in sequences of length tokens.
func (at Site[T]) shortConv(length int) Layer[T] {
	at = at.At("conv")
	return ShortConv[T]{at.Param("weight"), length, at.Optional("state")}
}

// weights returns the rows w_i.
func (l ShortConv[T]) weights(x Matrix[T]) (w []Matrix[T], err error) {
	if err := firstErr(x, l.Weight, l.Before); err != nil {
		return nil, err
	}
	if !shares(x.Rows, l.Length) || x.Rows%l.Length != 0 || l.Weight.Rows != 1 || !shares(l.Weight.Cols, x.Cols) {
		return nil, failed[T]("(%d, %d) in sequences of %d by weights (%d, %d)",
			x.Rows, x.Cols, l.Length, l.Weight.Rows, l.Weight.Cols).Err
	}
	if b := l.Before; !b.None() && (b.Rows != x.Rows/l.Length || b.Cols != l.Weight.Cols-x.Cols) {
		return nil, failed[T]("(%d, %d) before (%d, %d) in sequences of %d, for weights (%d, %d)",
			b.Rows, b.Cols, x.Rows, x.Cols, l.Length, l.Weight.Rows, l.Weight.Cols).Err
	}
	for from := 0; from < l.Weight.Cols; from += x.Cols {
		w = append(w, l.Weight.Columns(from, from+x.Cols))
	}
	return w, nil
}

// Forward returns Σ_i w_i ∘ x_{t−i}.
func (l ShortConv[T]) Forward(x Matrix[T]) Matrix[T] {
	w, err := l.weights(x)
	if err != nil {
		return Matrix[T]{Err: err}
	}
	y := x.Mul(w[0])
	for i, w := range w[1:] {
		y = y.Add(l.earlier(x, i+1).Mul(w))
	}
	return y
}

// Backward returns Δx_t = Σ_i w_i ∘ Δ_{t+i} and Δw_i = Σ_t Δ_t ∘ x_{t−i}.
func (l ShortConv[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	w, err := l.weights(x)
	if err != nil {
		return Matrix[T]{Err: err}, nil
	}
	dx = delta.Mul(w[0])
	dw := []Matrix[T]{delta.Mul(x).SumTokens()}
	for i, w := range w[1:] {
		dx = dx.Add(l.moved(delta, -i-1).Mul(w))
		dw = append(dw, delta.Mul(l.earlier(x, i+1)).SumTokens())
	}
	return dx, gradient(l.Weight, "weight", "w", "Σ_t Δ_t ∘ x_{t−i}", Join(dw...))
}

// earlier returns x_{t−i} for every token.
func (l ShortConv[T]) earlier(x Matrix[T], i int) Matrix[T] {
	if l.Before.None() {
		return l.moved(x, i)
	}
	n := l.Before.Cols / x.Cols
	var list []Matrix[T]
	for b := range x.Rows / l.Length {
		all := JoinTokens(l.Before.Tokens(b, b+1).reshaped(n, x.Cols), x.Tokens(b*l.Length, (b+1)*l.Length))
		list = append(list, all.Tokens(n-i, n-i+l.Length))
	}
	return JoinTokens(list...)
}

// moved returns x moved to later tokens by steps, or to earlier ones if steps is negative. What enters is 0.
func (l ShortConv[T]) moved(x Matrix[T], steps int) Matrix[T] {
	n := min(l.Length, max(steps, -steps))
	var rows []Matrix[T]
	for from := 0; from < x.Rows; from += l.Length {
		to := from + l.Length
		nothing := x.Tokens(from, from+n).Scale(0)
		switch {
		case n == l.Length:
			rows = append(rows, nothing)
		case steps > 0:
			rows = append(rows, nothing, x.Tokens(from, to-n))
		default:
			rows = append(rows, x.Tokens(from+n, to), nothing)
		}
	}
	return JoinTokens(rows...)
}

// Residual is a layer beside a residual stream: y = x + layer(x).
type Residual[T Number] struct{ Layer[T] }

// Forward returns x + layer(x).
func (l Residual[T]) Forward(x Matrix[T]) Matrix[T] { return x.Add(forward("residual", l.Layer, x)) }

// Backward returns Δ + Δ at the layer's input.
func (l Residual[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx, g = backward("residual", l.Layer, x, delta)
	return delta.Add(dx), g
}

// inTurn is the second layer of the result of the first. The name of the convolution among them is conv, and the other
// has no name of its own.
type inTurn[T Number] struct {
	first, second Layer[T]
	names         [2]string
}

// Forward returns second(first(x)).
func (l inTurn[T]) Forward(x Matrix[T]) Matrix[T] { return l.second.Forward(l.first.Forward(x)) }

// Backward passes Δ through both.
func (l inTurn[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	delta, second := l.second.Backward(l.first.Forward(x), delta)
	dx, first := l.first.Backward(x, delta)
	for i, own := range []Gradients[T]{first, second} {
		if l.names[i] != "" {
			own.In(l.names[i], "_c")
		}
	}
	return dx, slices.Concat(first, second)
}

// conv returns the convolution with at.conv.weight, or nil without such a parameter.
func (at Site[T]) conv() Layer[T] {
	w := at.At("conv").Optional("weight")
	if w.None() || at.Conv == nil {
		return nil
	}
	return at.Conv(w)
}

// AfterConv returns l after the convolution of at, if there is one.
func (at Site[T]) AfterConv(l Layer[T]) Layer[T] {
	if c := at.conv(); c != nil {
		return inTurn[T]{c, l, [2]string{"conv", ""}}
	}
	return l
}

// beforeConv returns l before the convolution of at, if there is one.
func (at Site[T]) beforeConv(l Layer[T]) Layer[T] {
	if c := at.conv(); c != nil {
		return inTurn[T]{l, c, [2]string{"", "conv"}}
	}
	return l
}
