package hand

import (
	"math"
	"slices"
)

// Difference combines the results of pairs of heads with a common value (Ye et al. 2024). For the results y₁ and y₂ of
// the heads of a pair, with norm an RMSNorm whose gains all pairs share,
//
//	a = (1 − λ₀) norm(y₁ − λ y₂),  λ = e^(λ_q1·λ_k1) − e^(λ_q2·λ_k2) + λ₀      (n, H·2dh) → (n, H·dh)
type Difference[T Number] struct {
	Lambda  [4]Matrix[T] // λ_q1, λ_k1, λ_q2, λ_k2  (1, dρ)
	Norm    RMSNorm[T]
	Initial float64 // λ₀
	Pairs   int
}

// powers returns e^(λ_q1·λ_k1), e^(λ_q2·λ_k2) and λ, each (1, 1).
func (l Difference[T]) powers() (first, second, lambda Matrix[T]) {
	first = l.Lambda[0].Mul(l.Lambda[1]).Sum().Exp()
	second = l.Lambda[2].Mul(l.Lambda[3]).Sum().Exp()
	return first, second, first.Sub(second).Shift(l.Initial)
}

// Forward returns a.
func (l Difference[T]) Forward(y Matrix[T]) Matrix[T] {
	l, y = l.checked(y)
	_, _, lambda := l.powers()
	var out []Matrix[T]
	for p := range l.Pairs {
		y1, y2 := y.part(2*p, 2*l.Pairs), y.part(2*p+1, 2*l.Pairs)
		out = append(out, l.Norm.Forward(y1.Sub(y2.Mul(lambda))).Scale(1-l.Initial))
	}
	return Join(out...)
}

// Backward returns Δ at y, and the gradients of λ's vectors and of the gains. With Δ_u at u = y₁ − λ y₂,
//
//	Δy₁ = Δ_u,  Δy₂ = −λ Δ_u,  ∂λ = −Σ Δ_u ∘ y₂,  ∂λ_q1 = ∂λ e^(λ_q1·λ_k1) λ_k1,  ∂λ_q2 = −∂λ e^(λ_q2·λ_k2) λ_k2
func (l Difference[T]) Backward(y, delta Matrix[T]) (dy Matrix[T], g Gradients[T]) {
	l, y = l.checked(y)
	first, second, lambda := l.powers()
	var parts []Matrix[T]
	dlambda, gains := first.zeros(), l.Norm.Weight.zeros()
	for p := range l.Pairs {
		y1, y2 := y.part(2*p, 2*l.Pairs), y.part(2*p+1, 2*l.Pairs)
		du, own := l.Norm.Backward(y1.Sub(y2.Mul(lambda)), delta.part(p, l.Pairs).Scale(1-l.Initial))
		parts = append(parts, du, du.Mul(lambda).Scale(-1))
		dlambda = dlambda.Sub(du.Mul(y2).Sum().SumTokens())
		for _, e := range own {
			gains = gains.Add(e.Value)
		}
	}
	by := func(i int, name, formula string, power Matrix[T]) Gradients[T] {
		other := l.Lambda[i^1]
		return gradient(l.Lambda[i], name, "λ", formula, other.Mul(dlambda.Mul(power)))
	}
	g = append(g, by(0, "lambda_q1", "∂λ e^(λ_q1·λ_k1) λ_k1", first)...)
	g = append(g, by(1, "lambda_k1", "∂λ e^(λ_q1·λ_k1) λ_q1", first)...)
	g = append(g, by(2, "lambda_q2", "−∂λ e^(λ_q2·λ_k2) λ_k2", second.Scale(-1))...)
	g = append(g, by(3, "lambda_k2", "−∂λ e^(λ_q2·λ_k2) λ_q2", second.Scale(-1))...)
	own := gradient(l.Norm.Weight, "weight", "w", "Σ x̂ ∘ Δ", gains)
	return Join(parts...), append(g, own.In("norm", "_n")...)
}

// checked returns l and y, or one pair of an error if y cannot be divided.
func (l Difference[T]) checked(y Matrix[T]) (Difference[T], Matrix[T]) {
	y = y.sound()
	if y.Err == nil && !(l.Pairs <= y.Cols && shares(y.Cols, 2*l.Pairs)) {
		y = failed[T]("%d columns for %d pairs of heads", y.Cols, l.Pairs)
	}
	if y.Err != nil {
		l.Pairs = 1
	}
	return l, y
}

// pairValues is the link that gives both heads of a pair its value.
type pairValues[T Number] struct{ heads Heads[T] } // whose groups are the pairs

// Forward returns a value for every head, and the values of the pairs.
func (l pairValues[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"v": l.heads.repeat(v.at("q"), v.at("v")), "v of a pair": v.at("v")}
}

// Backward returns the sums of Δ over the heads of every pair.
func (l pairValues[T]) Backward(_, delta Values[T]) (read Values[T], g Gradients[T]) {
	return Values[T]{"v": l.heads.sum(delta["v"]).Add(delta["v of a pair"])}, nil
}

// Difference returns the layer with the parameters at.lambda_q1 … at.lambda_k2 and at.norm. block counts from 0.
func (at Site[T]) Difference(pairs, block int) Difference[T] {
	l := Difference[T]{
		Norm: RMSNorm[T]{at.At("norm").Param("weight"), at.Eps}, Pairs: pairs,
		Initial: 0.8 - 0.6*math.Exp(-0.3*float64(block)),
	}
	for i, name := range []string{"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"} {
		l.Lambda[i] = at.Param(name)
	}
	return l
}

// DiffAttention returns SelfAttention whose pairs of heads share a value, and are combined by d.
func (at Site[T]) DiffAttention(heads Heads[T], qk int, rotary Layer[T], d Difference[T]) SelfAttention[T] {
	l := at.SelfAttention(heads, qk, rotary)
	l.Before = append(l.Before, pairValues[T]{Heads[T]{Count: 2 * d.Pairs, Groups: d.Pairs}})
	pairs := Heads[T]{Batch: heads.Batch, Count: d.Pairs}
	l.After = slices.Concat(Chain[T]{Apply[T]{From: "y", To: "y", Layer: d}}, at.after(pairs, "v of a pair"))
	return l
}
