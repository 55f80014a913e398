package hand

import (
	"math"
	"slices"
)

// MLP is the feed-forward layer of a block: it expands the features of each token, applies the activation and
// contracts.
//
//	y = g(x w₁ + b₁) w₂ + b₂    (n, d)          rows a₇ to a₉ of Table 2
type MLP[T Number] struct {
	Fc, Act, Proj Layer[T] // (d, f), (f, d)
	Drop          Dropout[T]
}

// Forward computes rows a₇ to a₉.
func (l MLP[T]) Forward(a6 Matrix[T]) Matrix[T] {
	a7 := forward("c_fc", l.Fc, a6)     // a₇  (n, f)
	a8 := forward("act", l.Act, a7)     // a₈  (n, f)
	a9 := forward("c_proj", l.Proj, a8) // a₉  (n, d)
	return l.Drop.Forward(a9)
}

// Backward computes rows Δ₉ to Δ₆.
func (l MLP[T]) Backward(a6, d10 Matrix[T]) (d6 Matrix[T], g Gradients[T]) {
	a7 := forward("c_fc", l.Fc, a6)
	a8 := forward("act", l.Act, a7)
	d9, _ := l.Drop.Backward(a8, d10)              // Δ₁₀ dispatched
	d8, proj := backward("c_proj", l.Proj, a8, d9) // Δ₈ = Δ₁₀ w₈ᵗ
	d7, _ := backward("act", l.Act, a7, d8)        // Δ₇ = Δ₈ ∘ g'(a₇)
	d6, fc := backward("c_fc", l.Fc, a6, d7)       // Δ₆ = Δ₇ w₆ᵗ
	return d6, slices.Concat(
		fc.by("a₆ᵗΔ₇", "ΣΔ₇").In("c_fc", "₆"),
		deltaAt("c_fc", "Δ₇ = Δ₈ ∘ g'(a₇)", d7),
		deltaAt("act", "Δ₈ = Δ₁₀ w₈ᵗ", d8),
		proj.by("a₈ᵗΔ₁₀", "ΣΔ₁₀").In("c_proj", "₈"),
		deltaAt("c_proj", "Δ₁₀, dispatched to a₉", d9),
	)
}

// MLP returns the layer with at.c_fc and at.c_proj.
func (at Site[T]) MLP(act Layer[T]) Layer[T] {
	fc := at.At("c_fc")
	return MLP[T]{fc.beforeConv(fc.Linear()), act, at.At("c_proj").Linear(), at.Drop("dropout")}
}

// GLU is the feed-forward layer of Shazeer, "GLU variants improve transformer" (2020): the hidden features z_u of a
// token are multiplied by the gate g(z_g). The variants differ in g: silu in SwiGLU, gelu in GEGLU, relu in ReGLU.
//
//	z_g = x w_g + b_g,  z_u = x w_u + b_u   (n, f)
//	h = g(z_g) ∘ z_u                        (n, f)
//	y = h w_d + b_d                         (n, d)
type GLU[T Number] struct {
	Gate, Act, Fc, Proj Layer[T] // (d, f), (n, f) → (n, f), (d, f), (f, d)
	Drop                Dropout[T]
}

// Forward returns y.
func (l GLU[T]) Forward(x Matrix[T]) Matrix[T] {
	zg, zu := forward("c_gate", l.Gate, x), forward("c_fc", l.Fc, x)
	h := forward("act", l.Act, zg).Mul(zu)
	return l.Drop.Forward(forward("c_proj", l.Proj, h))
}

// Backward returns Δ at the input, the sum over the gate and the hidden features, and the gradients of the three
// layers.
//
//	Δ_h = Δ w_dᵗ
//	Δ_g = Δ_h ∘ z_u ∘ g'(z_g),  Δ_u = Δ_h ∘ g(z_g)
//	Δx = Δ_g w_gᵗ + Δ_u w_uᵗ
func (l GLU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	zg, zu := forward("c_gate", l.Gate, x), forward("c_fc", l.Fc, x)
	open := forward("act", l.Act, zg)
	h := open.Mul(zu)
	dy, _ := l.Drop.Backward(h, delta) // dispatched
	dh, proj := backward("c_proj", l.Proj, h, dy)
	dg, _ := backward("act", l.Act, zg, dh.Mul(zu))
	du := dh.Mul(open)
	dx, gate := backward("c_gate", l.Gate, x, dg)
	through, fc := backward("c_fc", l.Fc, x, du)
	return dx.Add(through), slices.Concat(
		gate.by("xᵗΔ_g", "ΣΔ_g").In("c_gate", "_g"),
		deltaAt("c_gate", "Δ_g = Δ_h ∘ z_u ∘ g'(z_g)", dg),
		fc.by("xᵗΔ_u", "ΣΔ_u").In("c_fc", "_u"),
		deltaAt("c_fc", "Δ_u = Δ_h ∘ g(z_g)", du),
		deltaAt("act", "Δ_h = Δ w_dᵗ", dh),
		proj.by("hᵗΔ", "ΣΔ").In("c_proj", "_d"),
		deltaAt("c_proj", "Δ, dispatched", dy),
	)
}

// clampedGLU is the GLU of the experts of gpt-oss (OpenAI 2025).
//
//	g = min(z_g, L),  u = z_u between −L and L      (n, f)
//	h = g σ(αg) ∘ (u + 1),  α = 1.702               (n, f)
type clampedGLU[T Number] struct {
	Gate, Fc, Proj Layer[T]
	Limit          float64 // L
}

// slope is α.
const slope = 1.702

// inside returns g and u + 1, and 1 where the inputs of both are not beyond the limit.
func (l clampedGLU[T]) inside(x Matrix[T]) (g, u, gateIn, upIn Matrix[T]) {
	if !(l.Limit > 0 && l.Limit <= math.MaxFloat64) {
		bad := failed[T]("a limit of %v, want a positive number", l.Limit)
		return bad, bad, bad, bad
	}
	zg, zu := forward("c_gate", l.Gate, x), forward("c_fc", l.Fc, x)
	below := func(z Matrix[T]) Matrix[T] { return z.Shift(-l.Limit).Step().Scale(-1).Shift(1) } // 1[z ≤ L]
	gateIn, upIn = below(zg), below(zu).Mul(below(zu.Scale(-1)))
	g = zg.Mul(gateIn).Add(gateIn.Scale(-1).Shift(1).Scale(l.Limit))
	above, under := below(zu).Scale(-1).Shift(1), below(zu.Scale(-1)).Scale(-1).Shift(1)
	return g, zu.Mul(upIn).Add(above.Sub(under).Scale(l.Limit)).Shift(1), gateIn, upIn
}

// Forward returns h w_d + b_d.
func (l clampedGLU[T]) Forward(x Matrix[T]) Matrix[T] {
	g, u, _, _ := l.inside(x)
	return forward("c_proj", l.Proj, g.Mul(sigmoid(g.Scale(slope))).Mul(u))
}

// Backward returns Δ at the input and the gradients of the three layers. A feature beyond the limit has derivative 0.
//
//	Δ_g = Δ_h ∘ (u + 1) ∘ (σ + αg σ(1 − σ)) ∘ 1[z_g ≤ L],  Δ_u = Δ_h ∘ g σ ∘ 1[|z_u| ≤ L]
func (l clampedGLU[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], grads Gradients[T]) {
	g, u, gateIn, upIn := l.inside(x)
	s, rest := sigmoid(g.Scale(slope)), sigmoid(g.Scale(-slope)) // σ and 1 − σ
	dh, proj := backward("c_proj", l.Proj, g.Mul(s).Mul(u), delta)
	dg := dh.Mul(u).Mul(s.Add(g.Scale(slope).Mul(s).Mul(rest))).Mul(gateIn)
	dx, gate := backward("c_gate", l.Gate, x, dg)
	through, fc := backward("c_fc", l.Fc, x, dh.Mul(g).Mul(s).Mul(upIn))
	return dx.Add(through), slices.Concat(
		gate.by("xᵗΔ_g", "ΣΔ_g").In("c_gate", "_g"), fc.by("xᵗΔ_u", "ΣΔ_u").In("c_fc", "_u"),
		proj.by("hᵗΔ", "ΣΔ").In("c_proj", "_d"))
}

// clampedGLU returns the layer with at.c_gate, at.c_fc and at.c_proj, without dropout.
func (at Site[T]) clampedGLU(limit float64) Layer[T] {
	return clampedGLU[T]{at.At("c_gate").Linear(), at.At("c_fc").Linear(), at.At("c_proj").Linear(), limit}
}

// GLU returns the layer with at.c_gate, at.c_fc and at.c_proj.
func (at Site[T]) GLU(act Layer[T]) Layer[T] {
	gate, fc := at.At("c_gate"), at.At("c_fc")
	return GLU[T]{
		gate.beforeConv(gate.Linear()), act, fc.beforeConv(fc.Linear()), at.At("c_proj").Linear(), at.Drop("dropout"),
	}
}
