package hand

import (
	"fmt"
	"slices"
)

// Routing is how the logits z of a router become gates (Jiang et al., "Mixtral of experts", 2024, section 2.1): the K
// largest probabilities of each token, and 0 for the other experts.
//
//	p = softmax(z) or σ(z)              (n, E)
//	g = p ∘ 1[p is one of the K largest]
//	g = g/(Σ g + 1e-20)                 with Norm
//
// Of equal probabilities an earlier expert has the larger one. With a bias b (1, E), the K largest of p + b are chosen,
// and their gates are p as before (Wang et al., "Auxiliary-loss-free load balancing", 2024, (3)).
type Routing[T Number] struct {
	K             int
	Sigmoid, Norm bool
	Bias          Matrix[T] // empty without
}

// floor is added to the sum of a token's gates, which may be 0 for a sigmoid.
const floor = 1e-20

func (l Routing[T]) probabilities(z Matrix[T]) Matrix[T] {
	if l.Sigmoid {
		return sigmoid(z)
	}
	return z.Softmax()
}

// chosen returns 1 for the K largest of each row of p + b, and 0 elsewhere. The rank of an expert is the number of
// those that are larger, or equal and earlier.
func (l Routing[T]) chosen(p Matrix[T]) Matrix[T] { // (n, E)
	if !l.Bias.None() {
		p = p.Add(l.Bias)
	}
	if p = p.sound(); p.Err != nil {
		return p
	}
	if l.K < 1 || l.K > p.Cols {
		return failed[T]("%d of %d experts", l.K, p.Cols)
	}
	columns := make([]Matrix[T], p.Cols)
	for e := range columns {
		rank := Zeros[T](p.Rows, 1)
		for i := range columns {
			a, b := p.Columns(e, e+1), p.Columns(i, i+1)
			switch {
			case i < e:
				rank = rank.Add(a.Sub(b).Step().Scale(-1).Shift(1)) // not a > b
			case i > e:
				rank = rank.Add(b.Sub(a).Step()) // b > a
			}
		}
		columns[e] = rank.Scale(-1).Shift(float64(l.K) - 0.5).Step()
	}
	return Join(columns...)
}

// Forward returns g.
func (l Routing[T]) Forward(z Matrix[T]) Matrix[T] { // (n, E) → (n, E)
	p := l.probabilities(z)
	g := p.Mul(l.chosen(p))
	if l.Norm {
		g = g.Div(g.Sum().Shift(floor))
	}
	return g
}

// Backward returns Δ at z.
//
//	Δ_p = 1[chosen] ∘ (Δ − Σ Δ∘g)/(Σ g + 1e-20) with Norm, otherwise 1[chosen] ∘ Δ
//	Δ_z = p ∘ (Δ_p − Σ Δ_p∘p) for the softmax, Δ_p ∘ σ(z) ∘ σ(−z) for the sigmoid
//
// The gradient of b is 0: it moves no gate, except where the choice jumps.
func (l Routing[T]) Backward(z, delta Matrix[T]) (dz Matrix[T], g Gradients[T]) {
	p := l.probabilities(z)
	mask := l.chosen(p)
	if l.Norm {
		sum := p.Mul(mask).Sum().Shift(floor)
		gates := p.Mul(mask).Div(sum)
		delta = delta.Sub(delta.Mul(gates).Sum()).Div(sum)
	}
	return l.back(z, p, delta.Mul(mask)), nil
}

// back returns Δ at z for Δ at p.
func (l Routing[T]) back(z, p, dp Matrix[T]) Matrix[T] {
	if l.Sigmoid {
		return dp.Mul(p).Mul(sigmoid(z.Scale(-1)))
	}
	return p.Mul(dp.Sub(dp.Mul(p).Sum()))
}

// SwitchLoss is the loss that balances experts (Fedus et al., "Switch transformers", 2021, (4) to (6)).
//
//	L = E Σ_e f_e P_e,  f = mean of 1[chosen],  P = mean of p/(Σ p + 1e-20)    (1, E)
//
// The means run over the tokens, and f is a constant. The sum Σ p is 1 for the softmax.
type SwitchLoss[T Number] struct{ Routing Routing[T] }

// parts returns p, its sums with Sigmoid, and f.
func (l SwitchLoss[T]) parts(z Matrix[T]) (p, sum, f Matrix[T]) {
	p = l.Routing.probabilities(z)
	if l.Routing.Sigmoid {
		sum = p.Sum().Shift(floor)
	}
	f = l.Routing.chosen(p).SumTokens().Scale(1 / float64(max(1, z.Rows)))
	return p, sum, f
}

// Forward returns L (1, 1).
func (l SwitchLoss[T]) Forward(z Matrix[T]) Matrix[T] {
	p, sum, f := l.parts(z)
	if l.Routing.Sigmoid {
		p = p.Div(sum)
	}
	mean := p.SumTokens().Scale(1 / float64(max(1, z.Rows)))
	return f.Mul(mean).Sum().Scale(float64(z.Cols))
}

// Backward returns Δ at z, for Δ at L.
//
//	Δ_P = Δ (E/n) f in every row;  Δ_p = Δ_P for the softmax, (Δ_P − Σ Δ_P∘p/Σ p)/Σ p for the sigmoid
func (l SwitchLoss[T]) Backward(z, delta Matrix[T]) (dz Matrix[T], g Gradients[T]) {
	p, sum, f := l.parts(z)
	dp := p.zeros().Add(f.Mul(delta).Scale(float64(z.Cols) / float64(max(1, z.Rows))))
	if l.Routing.Sigmoid {
		dp = dp.Sub(dp.Mul(p.Div(sum)).Sum()).Div(sum)
	}
	return l.Routing.back(z, p, dp), nil
}

// Balances holds the losses that balance the experts of a model's blocks.
type Balances[T Number] struct {
	Coefficient float64 // α
	losses      []Matrix[T]
}

// add adds the loss of a block.
func (b *Balances[T]) add(loss Matrix[T]) {
	if b != nil {
		b.losses = append(b.losses, loss)
	}
}

// forget removes all losses.
func (b *Balances[T]) forget() {
	if b != nil {
		b.losses = nil
	}
}

// to returns loss plus α times the losses of the blocks.
func (b *Balances[T]) to(loss Matrix[T]) Matrix[T] {
	if b == nil {
		return loss
	}
	for _, own := range b.losses {
		loss = loss.Add(own.Scale(b.Coefficient))
	}
	return loss
}

// MoE is a mixture of experts. Every expert computes all tokens, of which it changes those that chose it.
//
//	g = routing(x w_r)                    (n, E)
//	y = Σ_e g_e ∘ expert_e(x) + shared(x)   (n, d)
type MoE[T Number] struct {
	Router  Layer[T] // (d, E)
	Routing Routing[T]
	Experts []Layer[T] // (n, d) → (n, d)
	Shared  Layer[T]   // nil without
	Drop    Dropout[T]
	Balance *Balances[T] // of the model; nil without
}

func expertName(e int) string { return fmt.Sprintf("experts.%d", e) }

// Forward returns y.
func (l MoE[T]) Forward(x Matrix[T]) Matrix[T] {
	z := forward("router", l.Router, x)
	l.Balance.add(SwitchLoss[T]{l.Routing}.Forward(z))
	g := l.Routing.Forward(z)
	switch {
	case g.Err != nil:
		return g
	case g.Cols != len(l.Experts):
		return failed[T]("gates of %d experts, there are %d", g.Cols, len(l.Experts))
	}
	y := x.zeros()
	for e, expert := range l.Experts {
		y = y.Add(forward(expertName(e), expert, x).Mul(g.Columns(e, e+1)))
	}
	if l.Shared != nil {
		y = y.Add(forward("shared", l.Shared, x))
	}
	return l.Drop.Forward(y)
}

// Backward returns Δ at x, the sum over the router and the experts, and the gradients of their parameters.
//
//	Δ_e = g_e ∘ Δ,  Δ_g = Σ Δ ∘ expert_e(x), the sum over the features
func (l MoE[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], gradients Gradients[T]) {
	z := forward("router", l.Router, x)
	g := l.Routing.Forward(z)
	delta, _ = l.Drop.Backward(x, delta) // dispatched
	dx = x.zeros()
	columns := make([]Matrix[T], len(l.Experts))
	for e, expert := range l.Experts {
		columns[e] = delta.Mul(forward(expertName(e), expert, x)).Sum()
		through, own := backward(expertName(e), expert, x, delta.Mul(g.Columns(e, e+1)))
		dx, gradients = dx.Add(through), slices.Concat(gradients, own.In(expertName(e), ""))
	}
	dz, _ := l.Routing.Backward(z, Join(columns...))
	if b := l.Balance; b != nil {
		own, _ := SwitchLoss[T]{l.Routing}.Backward(z, Zeros[T](1, 1).Shift(b.Coefficient))
		dz = dz.Add(own)
	}
	through, router := backward("router", l.Router, x, dz)
	dx, gradients = dx.Add(through), slices.Concat(router.by("xᵗΔ_z", "ΣΔ_z").In("router", "_r"), gradients)
	if b := l.Routing.Bias; !b.None() {
		own := Gradient[T]{Name: correction, Symbol: "b", Equation: "0", Value: b.zeros(), Zero: true}
		gradients = append(gradients, own)
	}
	if l.Shared != nil {
		through, own := backward("shared", l.Shared, x, delta)
		dx, gradients = dx.Add(through), append(gradients, own.In("shared", "")...)
	}
	return dx, gradients
}

// correction is the bias that chooses experts.
const correction = "router.e_score_correction_bias"

// RebalanceUpdate returns the bias b (1, E) after a step of which n (1, E) tokens chose the experts (Wang et al. 2024,
// algorithm 1).
//
//	b ← b + u·sign(n̄ − n),  n̄ = Σ n/E
func RebalanceUpdate[T Number](u float64, b, n Matrix[T]) Matrix[T] {
	few := n.zeros().Add(n.Sum().Scale(1 / float64(max(1, n.Cols)))).Sub(n) // n̄ − n
	return b.Add(few.Step().Sub(few.Scale(-1).Step()).Scale(u))
}

// MoE returns the layer with at.router, at.experts.0, at.experts.1, …, and at.shared, if there is one. The router's
// bias, if there is one, chooses the experts.
func (at Site[T]) MoE(r Routing[T]) Layer[T] {
	return at.mixture(r, func(at Site[T]) Layer[T] { return at.GLU(SiLU[T]{}) })
}

// ClampedMoE returns the MoE whose experts are clampedGLUs with the limit.
func (at Site[T]) ClampedMoE(r Routing[T], limit float64) Layer[T] {
	return at.mixture(r, func(at Site[T]) Layer[T] { return at.clampedGLU(limit) })
}

func (at Site[T]) mixture(r Routing[T], build func(Site[T]) Layer[T]) Layer[T] {
	r.Bias = at.Optional(correction)
	l := MoE[T]{Router: at.At("router").Linear(), Routing: r, Drop: at.Drop("dropout"), Balance: at.Balance}
	expert := at
	expert.Dropout, expert.Conv = nil, nil
	for e := range at.At("router").Param("weight").Cols {
		l.Experts = append(l.Experts, build(expert.At(expertName(e))))
	}
	if !at.At("shared.c_proj").Optional("weight").None() {
		l.Shared = build(expert.At("shared"))
	}
	return l
}
