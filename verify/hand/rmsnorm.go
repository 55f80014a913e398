package hand

// RMSNorm divides the features of each token by the root of the mean of their squares and applies a gain (Zhang and
// Sennrich, "Root mean square layer normalization", 2019).
//
//	y = x̂ ∘ w̃,  x̂ = x/rms,  rms² = mean(x²) + ε
type RMSNorm[T Number] struct {
	Weight Matrix[T] // w̃  (1, d)
	Eps    float64
}

// Forward returns x̂ ∘ w̃.
func (l RMSNorm[T]) Forward(x Matrix[T]) Matrix[T] { return x.Div(l.rms(x)).Mul(l.Weight) }

func (l RMSNorm[T]) rms(x Matrix[T]) Matrix[T] { return x.Square().Mean().Shift(l.Eps).Sqrt() } // (n, 1)

// Backward returns Δ at the input and the gradient of w. Since rms has the derivative x̂/d by x,
//
//	Δx = (g − x̂ ∘ mean(g ∘ x̂))/rms,  g = w̃ Δ
//	∂w = Σ x̂ ∘ Δ
func (l RMSNorm[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	rms := l.rms(x)
	norm := x.Div(rms)           // x̂    (n, d)
	dnorm := delta.Mul(l.Weight) // w̃ Δ  (n, d)
	dx = dnorm.Sub(norm.Mul(dnorm.Mul(norm).Mean())).Div(rms)
	return dx, gradient(l.Weight, "weight", "w", "Σ x̂ ∘ Δ", norm.Mul(delta).SumTokens())
}

// RMSNorm returns the layer whose parameter is at.weight.
func (at Site[T]) RMSNorm() Layer[T] { return RMSNorm[T]{at.Param("weight"), at.Eps} }

// qkNorm normalises the queries and keys of an attention, [q | k | v], and leaves its values unchanged (Henry et al.
// 2020, Dehghani et al. 2023). Every group of features of a token is a row of an RMSNorm.
//
//	q ← rms(q) ∘ γ_q,  k ← rms(k) ∘ γ_k
type qkNorm[T Number] struct {
	q, k          Matrix[T] // γ_q, γ_k  (1, size of a group)
	queries, keys int       // columns of q and of k
	eps           float64
}

// Forward returns [rms(q) ∘ γ_q | rms(k) ∘ γ_k | v].
func (l qkNorm[T]) Forward(x Matrix[T]) Matrix[T] {
	q, k, v := splitPacked(x, l.queries, l.keys)
	each := func(x, gains Matrix[T]) Matrix[T] {
		return RMSNorm[T]{gains, l.eps}.Forward(x.groups(gains)).reshaped(x.Rows, x.Cols)
	}
	return Join(each(q, l.q), each(k, l.k), v)
}

// Backward is RMSNorm.Backward on the groups of q and of k. The gradients of the gains are sums over tokens and
// groups.
func (l qkNorm[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	q, k, _ := splitPacked(x, l.queries, l.keys)
	dq, dk, dv := splitPacked(delta, l.queries, l.keys)
	each := func(name, symbol string, x, gains, delta Matrix[T]) Matrix[T] {
		d, own := RMSNorm[T]{gains, l.eps}.Backward(x.groups(gains), delta.groups(gains))
		for i := range own {
			own[i].Symbol = symbol
		}
		g = append(g, own.In(name, "")...)
		return d.reshaped(x.Rows, x.Cols)
	}
	dq, dk = each("q_norm", "γ_q", q, l.q, dq), each("k_norm", "γ_k", k, l.k, dk)
	return Join(dq, dk, dv), g
}

// groups returns a row for every group of features of x that has the given gains.
func (x Matrix[T]) groups(gains Matrix[T]) Matrix[T] {
	if err := firstErr(gains, x); err != nil {
		return Matrix[T]{Err: err}
	}
	if gains.Cols < 1 || x.Cols%gains.Cols != 0 {
		return failed[T]("(%d, %d) in groups of %d columns", x.Rows, x.Cols, gains.Cols)
	}
	return x.reshaped(x.Rows*x.Cols/gains.Cols, gains.Cols)
}

// queryKeyNorm returns the norm of [q | k | v], where q and k have the given columns, whose parameters are
// at.q_norm.weight and at.k_norm.weight. It returns nil if there are none.
func (at Site[T]) queryKeyNorm(queries, keys int) Layer[T] {
	if at.Optional("q_norm.weight").None() && at.Optional("k_norm.weight").None() {
		return nil
	}
	return qkNorm[T]{at.Param("q_norm.weight"), at.Param("k_norm.weight"), queries, keys, at.Eps}
}
