package hand

import "slices"

// SelfAttention is multi-headed self-attention: one projection to packed queries, keys and values, whose columns are [Q
// | K | V], each of them [head 1 | … | head H]; the heads; and the projection of their outputs. If heads share keys and
// values, K and V have the columns of the groups. Links before and after the heads change what these read and return.
//
//	(B·n, d) → (B·n, H·dρ+G(dρ+dh)) → (B·n, H·dh) → (B·n, d)
type SelfAttention[T Number] struct {
	Before Chain[T] // from x to q (B·n, H·dρ), k (B·n, G·dρ) and v (B·n, G·dh)
	Heads  Heads[T] // from q, k and v to y, which is a₃ (B·n, H·dh)
	After  Chain[T] // from y to y, which is a₄ (B·n, d)
}

// chain returns all links, rows a₂ to a₄ of Table 2.
func (l SelfAttention[T]) chain() Chain[T] {
	return slices.Concat(l.Before, Chain[T]{attend[T]{l.Heads}}, l.After)
}

// Forward computes rows a₃ and a₄ of Table 2.
func (l SelfAttention[T]) Forward(a2 Matrix[T]) Matrix[T] { return l.chain().Forward(a2) }

// Backward computes rows Δ₄ to Δ₂: Δ₃ = Δ₅ w₃ᵗ, then Δ_raw k, Δ_rawᵗ q and ρᵗ Δ₃ of every head, then Δ₂ = Σ_h (…).
func (l SelfAttention[T]) Backward(a2, d5 Matrix[T]) (d2 Matrix[T], g Gradients[T]) {
	return l.chain().Backward(a2, d5)
}

// attend is the link of the heads: y = heads(q, k, v).
type attend[T Number] struct{ heads Heads[T] }

// Forward returns the heads' results.
func (l attend[T]) Forward(v Values[T]) (written Values[T]) {
	return Values[T]{"y": l.heads.Forward(v.at("q"), v.at("k"), v.at("v"))}
}

// Backward returns Δ at the queries, keys and values, and the gradients of sinks.
func (l attend[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	q, k, value := v.at("q"), v.at("k"), v.at("v")
	dq, dk, dv := l.heads.Backward(q, k, value, delta["y"])
	return Values[T]{"q": dq, "k": dk, "v": dv}, l.heads.sinks(q, k, value, delta["y"])
}

// gate is the link that multiplies the heads' results by gates of the input, one for each feature or for each head.
//
//	y ← y ∘ σ(x w_g + b_g)
type gate[T Number] struct{ logits Layer[T] } // (d, H·dh) or (d, H)

// Forward returns y ∘ σ(z).
func (l gate[T]) Forward(v Values[T]) (written Values[T]) {
	y := v.at("y")
	return Values[T]{"y": y.Mul(sigmoid(forward("c_gate", l.logits, v.at("x"))).features(y))}
}

// Backward returns Δy = Δ ∘ g, and Δ at x through z. Δ_z is Δ ∘ y ∘ g(1 − g), summed over the features of a gate.
func (l gate[T]) Backward(v, delta Values[T]) (read Values[T], g Gradients[T]) {
	x, y, d := v.at("x"), v.at("y"), delta["y"]
	z := forward("c_gate", l.logits, x)
	dz, _ := Sigmoid[T]{}.Backward(z, d.Mul(y).perGate(z))
	dx, g := backward("c_gate", l.logits, x, dz)
	g = g.by("a₂ᵗ(Δ₃ ∘ a ∘ g(1 − g))", "Σ Δ₃ ∘ a ∘ g(1 − g)").In("c_gate", "_g")
	return Values[T]{"x": dx, "y": d.Mul(sigmoid(z).features(y))}, g
}

// features returns a gate for every feature of heads: (n, H) or (n, H·dh) → (n, H·dh).
func (x Matrix[T]) features(heads Matrix[T]) Matrix[T] {
	if err := firstErr(x, heads); err != nil {
		return Matrix[T]{Err: err}
	}
	if !shares(heads.Cols, x.Cols) {
		return failed[T]("%d gates for %d features", x.Cols, heads.Cols)
	}
	out := make([]Matrix[T], heads.Cols)
	for i := range out {
		gate := i * x.Cols / heads.Cols
		out[i] = x.Columns(gate, gate+1)
	}
	return Join(out...)
}

// perGate returns the sums of x over the features of each gate: (n, H·dh) → (n, H) or (n, H·dh).
func (x Matrix[T]) perGate(gates Matrix[T]) Matrix[T] {
	if err := firstErr(x, gates); err != nil {
		return Matrix[T]{Err: err}
	}
	out := make([]Matrix[T], gates.Cols)
	for i := range out {
		out[i] = x.part(i, gates.Cols).Sum()
	}
	return Join(out...)
}

// optionalLinear returns the affine layer of that name, or nil if there is none.
func (at Site[T]) optionalLinear(name string) Layer[T] {
	at = at.At(name)
	if at.Optional("weight").None() && at.Optional("bias").None() {
		return nil
	}
	return at.Linear()
}

// SelfAttention returns the layer with at.c_attn and at.c_proj, and with a link for each further part that at has
// parameters of. The queries of all heads together have qk features.
func (at Site[T]) SelfAttention(heads Heads[T], qk int, rotary Layer[T]) SelfAttention[T] {
	return SelfAttention[T]{
		Before: slices.Concat(
			at.project(projection[T]{
				name: "c_attn", queries: qk, keys: heads.keys(qk), rotary: rotary,
				invariant: heads.head(0, 0).ShiftInvariant(),
			}),
			at.firstValues(), at.forgetting(heads),
		),
		Heads: heads,
		After: at.after(heads, "v"),
	}
}

// after returns the links after the heads.
func (at Site[T]) after(heads Heads[T], value string) (c Chain[T]) {
	if at.Links != nil {
		c = at.Links(at, heads, value)
	}
	return slices.Concat(c, at.gate(), at.out())
}

// projection describes the links from x to [q | k | v].
type projection[T Number] struct {
	name, norms   string // of the projection, and before the norms of queries and keys
	symbols       string // added to the symbols of the parameters
	queries, keys int    // columns of q and of k
	rotary        Layer[T]
	invariant     bool // the heads ignore what all scores of a query have in common
}

// project returns the links: the projection, its convolution, and the norm and rotation of queries and keys.
func (at Site[T]) project(p projection[T]) Chain[T] {
	affine, norm := at.At(p.name), at.At(p.norms).queryKeyNorm(p.queries, p.keys)
	cancels := p.invariant && norm == nil && p.rotary == nil && affine.conv() == nil
	var qkv Layer[T] = PackedQKV[T]{affine.Packed(p.queries, p.keys), p.queries, p.keys, p.symbols, cancels}
	if at.Queries != 0 {
		qkv = ScaledQueries[T]{qkv, p.queries, at.Queries}
	}
	c := Chain[T]{Apply[T]{
		Name: p.name, From: "x", To: "qkv", Layer: affine.beforeConv(qkv), Delta: "Δ_q, Δ_k, Δ_v (22), (30)",
	}}
	if norm != nil {
		c = append(c, Apply[T]{Name: p.norms, From: "qkv", To: "qkv", Layer: norm})
	}
	if p.rotary != nil {
		c = append(c, Apply[T]{From: "qkv", To: "qkv", Layer: rotatedQK[T]{p.queries, p.keys, p.rotary}})
	}
	return append(c, unpack[T]{p.queries, p.keys})
}

// gate returns the link of at.c_gate, if there is one.
func (at Site[T]) gate() (c Chain[T]) {
	if z := at.optionalLinear("c_gate"); z != nil {
		c = append(c, gate[T]{z})
	}
	return c
}

// out returns the links from the heads' results to the result of the layer: at.c_proj and its dropout.
func (at Site[T]) out() Chain[T] {
	return Chain[T]{
		place[T]{"y", "heads", "Δ₃ = Δ₅ w₃ᵗ"},
		Apply[T]{
			Name: "c_proj", From: "y", To: "y", Layer: at.At("c_proj").Linear(), Index: "₃",
			Weight: "a₃ᵗΔ₅", Bias: "ΣΔ₅", Delta: "Δ₅, dispatched to a₄",
		},
		Apply[T]{From: "y", To: "y", Layer: at.Drop("resid_dropout")},
	}
}

// Unprojected is attention of tokens to themselves or to other tokens Z. The tokens themselves serve as queries, keys
// and values.
//
//	softmax(x zᵗ/√d + M) z      (n, d), (m, d) → (n, d)      Xu (4)–(6)
//
// Conti prints it for z ≠ x under the name of cross-attention (erratum C14).
type Unprojected[T Number] struct {
	Z     Matrix[T] // optional; x itself if absent
	Heads Heads[T]
}

func (l Unprojected[T]) keys(x Matrix[T]) Matrix[T] {
	if l.Z.None() {
		return x
	}
	return l.Z
}

// Forward computes attention of x to z.
func (l Unprojected[T]) Forward(x Matrix[T]) Matrix[T] {
	z := l.keys(x)
	return l.Heads.Forward(x, z, z)
}

// Backward returns the Δ of the queries. The Δ of z, which is both key and value, is the sum of both. If z = x, all
// three are added.
func (l Unprojected[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	z := l.keys(x)
	dq, dk, dv := l.Heads.Backward(x, z, z, delta)
	dz := dk.Add(dv)
	if l.Z.None() {
		return dq.Add(dz), nil
	}
	return dq, deltaAt(MemoryDelta, "Δk + Δv", dz)
}
