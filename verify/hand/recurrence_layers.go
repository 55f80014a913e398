package hand

import (
	"math"
	"slices"
)

// chain applies layers in turn.
type chain[T Number] []link[T]

// link is a layer of a chain. name prefixes the layer's parameters within the chain; if empty, nothing is prefixed.
type link[T Number] struct {
	name  string
	layer Layer[T]
}

func (l link[T]) forward(x Matrix[T]) Matrix[T] {
	if l.name == "" {
		return l.layer.Forward(x)
	}
	return forward(l.name, l.layer, x)
}

// Forward returns the result of the last layer.
func (l chain[T]) Forward(x Matrix[T]) Matrix[T] {
	for _, part := range l {
		x = part.forward(x)
	}
	return x
}

// Backward passes Δ through the layers, from the last to the first.
func (l chain[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	inputs := []Matrix[T]{x}
	for _, part := range l {
		x = part.forward(x)
		inputs = append(inputs, x)
	}
	for i := len(l) - 1; i >= 0; i-- {
		var own Gradients[T]
		if delta, own = backward(l[i].name, l[i].layer, inputs[i], delta); l[i].name != "" {
			own = own.In(l[i].name, "_"+l[i].name)
		}
		g = append(own, g...)
	}
	return delta, g
}

// logSigmoid is the logarithm of a root of the logistic function.
//
//	y = c ln σ(x) = −c ln(1 + e^(−x))
type logSigmoid[T Number] struct{ factor float64 }

// Forward returns −c softplus(−x).
func (l logSigmoid[T]) Forward(x Matrix[T]) Matrix[T] { return softplus(x.Scale(-1)).Scale(-l.factor) }

// Backward returns Δx = Δ ∘ c σ(−x).
func (l logSigmoid[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return delta.Mul(sigmoid(x.Scale(-1))).Scale(l.factor), nil
}

// timeDecay is the logarithm of the gates of Mamba-2, with a rate e^a for every head and a time step softplus(z) for
// every head, or for each of r features of it.
//
//	y = −e^a ∘ softplus(z),  z = x w + b        (n, H·r)
type timeDecay[T Number] struct {
	step Layer[T]  // (d, H·r)
	a    Matrix[T] // (1, H)
}

// rates returns −e^a for every one of n columns.
func (l timeDecay[T]) rates(n int) Matrix[T] {
	switch a := l.a.sound(); {
	case a.Err != nil:
		return a
	case !shares(n, a.Cols):
		return failed[T]("%d time steps of %d heads", n, a.Cols)
	}
	ones := Zeros[T](1, n/l.a.Cols).Shift(1)
	return l.a.Exp().Scale(-1).Transpose().MatMul(ones).reshaped(1, n)
}

// Forward returns −e^a ∘ softplus(z).
func (l timeDecay[T]) Forward(x Matrix[T]) Matrix[T] {
	z := l.step.Forward(x)
	return softplus(z).Mul(l.rates(z.Cols))
}

// Backward returns Δ at the input, by Δz = −Δ ∘ e^a ∘ σ(z), and the gradient of a.
//
//	∂a = Σ Δ ∘ y, over the tokens and the features of the head
func (l timeDecay[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	z := l.step.Forward(x)
	dx, g = l.step.Backward(x, delta.Mul(sigmoid(z)).Mul(l.rates(z.Cols)))
	heads := max(1, l.a.Cols)
	da := delta.Mul(l.Forward(x)).SumTokens().reshaped(heads, z.Cols/heads).Sum().Transpose()
	return dx, append(g, gradient(l.a, "a_log", "a", "Σ Δ ∘ ln α", da)...)
}

// constantDecay is the logarithm of gates that are the same for all tokens.
type constantDecay[T Number] struct{ row Matrix[T] } // (1, H)

// Forward returns the row for every token.
func (l constantDecay[T]) Forward(x Matrix[T]) Matrix[T] {
	zeros := x.zeros()
	return zeros.Sum().Add(l.row)
}

// Backward returns 0.
func (l constantDecay[T]) Backward(x, _ Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	return x.zeros(), nil
}

// unitQK gives the queries and keys of every head in [q | k | v] the length 1, up to ε.
//
//	q ← q/√(‖q‖² + ε),  k ← k/√(‖k‖² + ε)
type unitQK[T Number] struct {
	qk, size int // H·dρ, dρ
	eps      float64
}

// norm is an RMSNorm with the gains 1/√dρ and ε/dρ.
func (l unitQK[T]) norm() qkNorm[T] {
	gains := Zeros[T](1, max(1, l.size)).Shift(1 / math.Sqrt(float64(l.size)))
	return qkNorm[T]{gains, gains, l.qk, l.qk, l.eps / float64(l.size)}
}

// Forward returns [q | k | v].
func (l unitQK[T]) Forward(x Matrix[T]) Matrix[T] { return l.norm().Forward(x) }

// Backward is like RMSNorm.Backward for constant gains.
func (l unitQK[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	dx, _ = l.norm().Backward(x, delta)
	return dx, nil
}

// rotatedQK rotates the queries and keys in [q | k | v].
type rotatedQK[T Number] struct {
	queries, keys int // their columns
	rotary        Layer[T]
}

// Forward returns [q | k | v].
func (l rotatedQK[T]) Forward(x Matrix[T]) Matrix[T] {
	q, k, v := splitPacked(x, l.queries, l.keys)
	return Join(l.rotary.Forward(q), l.rotary.Forward(k), v)
}

// Backward turns Δ back.
func (l rotatedQK[T]) Backward(x, delta Matrix[T]) (dx Matrix[T], g Gradients[T]) {
	q, k, _ := splitPacked(x, l.queries, l.keys)
	dq, dk, dv := splitPacked(delta, l.queries, l.keys)
	dq, _ = l.rotary.Backward(q, dq)
	dk, _ = l.rotary.Backward(k, dk)
	return Join(dq, dk, dv), nil
}

// rotated appends the rotation of queries and keys, if there is one.
func (l chain[T]) rotated(qk int, rotary Layer[T]) chain[T] {
	if rotary == nil {
		return l
	}
	return append(l, link[T]{"", rotatedQK[T]{qk, qk, rotary}})
}

// recurrence describes a layer whose heads have a matrix as their state. The layers of ln α and of β are optional.
//
//	y = (act(x w_g + b_g) ∘ norm(o)) w_proj + b_proj        (B·n, d)
type recurrence[T Number] struct {
	qkv         Layer[T] // (d, H(2dρ+dh))
	decay, beta Layer[T] // ln α (d, H) or (d, H·dρ), and β (d, H)
	qk          int      // H·dρ
	states      headStates[T]
	gate, act   Layer[T] // (d, H·dh)
}

// recurrence returns a description with at.c_gate, for queries of all heads of qk features.
func (at Site[T]) recurrence(batch, heads, qk int) recurrence[T] {
	return recurrence[T]{
		qk: qk, states: headStates[T]{Batch: batch, Heads: heads, Before: at.Optional("state")},
		gate: at.At("c_gate").Linear(), act: SiLU[T]{},
	}
}

// at returns the layer with at.norm and at.c_proj.
func (l recurrence[T]) at(at Site[T]) Chain[T] {
	c := Chain[T]{Apply[T]{Name: "c_attn", From: "x", To: "qkv", Layer: l.qkv}, unpack[T]{l.qk, l.qk}}
	if l.decay != nil {
		c = append(c, Apply[T]{Name: "c_decay", From: "x", To: "g", Layer: l.decay, Index: "_α"})
	}
	if l.beta != nil {
		c = append(c, Apply[T]{Name: "c_beta", From: "x", To: "b", Layer: l.beta, Index: "_β"})
	}
	norm := ofHeads[T]{at.At("norm").RMSNorm(), l.states.Heads}
	return slices.Concat(c, Chain[T]{
		states[T]{l.states}, Apply[T]{Name: "norm", From: "y", To: "y", Layer: norm},
		Apply[T]{Name: "c_gate", From: "x", To: "z", Layer: l.gate, Index: "_g"},
		Apply[T]{From: "z", To: "z", Layer: l.act}, multiply[T]{"z", "y"},
	}, at.out())
}

// GLA returns gated linear attention with at.c_attn, at.c_decay.down and at.c_decay.up, and the rest of its layer.
func (at Site[T]) GLA(batch, heads, qk int) Layer[T] {
	l := at.recurrence(batch, heads, qk)
	l.qkv = at.At("c_attn").Packed(qk, qk)
	l.decay = chain[T]{{"", at.At("c_decay").narrow()}, {"", logSigmoid[T]{1. / 16}}}
	return l.at(at)
}

// RetNet returns retention with at.c_attn and the rest of its layer. Head h, from 0, decays by 1 − 2^(−5−h).
func (at Site[T]) RetNet(batch, heads, qk int, rotary Layer[T]) Layer[T] {
	l := at.recurrence(batch, heads, qk)
	l.qkv = chain[T]{{"", at.At("c_attn").Packed(qk, qk)}}.rotated(qk, rotary)
	row := make([]T, max(0, min(heads, qk))) // a head has at least one feature
	for h := range row {
		row[h] = number[T](math.Log1p(-math.Exp2(float64(-5 - h))))
	}
	l.decay = constantDecay[T]{NewMatrix(1, len(row), row...)}
	return l.at(at)
}

// DeltaNet returns the delta rule with at.c_attn, at.c_attn.conv and at.c_beta, and the rest of its layer, for
// sequences of length tokens.
func (at Site[T]) DeltaNet(batch, heads, qk, length int, rotary Layer[T]) Layer[T] {
	return at.deltaNet(batch, heads, qk, length, rotary).at(at)
}

// DeltaNetNegEigval returns DeltaNet with β = 2·σ(x·w_β).
func (at Site[T]) DeltaNetNegEigval(batch, heads, qk, length int, rotary Layer[T]) Layer[T] {
	return at.deltaNet(batch, heads, qk, length, rotary).negative().at(at)
}

// negative doubles β, and so admits negative eigenvalues.
func (l recurrence[T]) negative() recurrence[T] {
	l.beta = Scaled[T]{Layer: l.beta, In: 1, Out: 2}
	return l
}

func (at Site[T]) deltaNet(batch, heads, qk, length int, rotary Layer[T]) recurrence[T] {
	l := at.recurrence(batch, heads, qk)
	attn := at.At("c_attn")
	l.qkv = chain[T]{
		{"", attn.Packed(qk, qk)}, {"conv", attn.shortConv(length)}, {"", SiLU[T]{}},
		{"", unitQK[T]{qk, qk / max(1, heads), at.Eps}},
	}.rotated(qk, rotary)
	l.beta = chain[T]{{"", at.At("c_beta").Linear()}, {"", Sigmoid[T]{}}}
	l.states.Delta = true
	return l
}

// GatedDeltaNet returns the gated delta rule: DeltaNet with at.c_decay.
func (at Site[T]) GatedDeltaNet(batch, heads, qk, length int, rotary Layer[T]) Layer[T] {
	return at.gatedDeltaNet(batch, heads, qk, length, rotary).at(at)
}

// GatedDeltaNetNegEigval returns GatedDeltaNet with β = 2·σ(x·w_β).
func (at Site[T]) GatedDeltaNetNegEigval(batch, heads, qk, length int, rotary Layer[T]) Layer[T] {
	return at.gatedDeltaNet(batch, heads, qk, length, rotary).negative().at(at)
}

func (at Site[T]) gatedDeltaNet(batch, heads, qk, length int, rotary Layer[T]) recurrence[T] {
	l := at.deltaNet(batch, heads, qk, length, rotary)
	l.decay = timeDecay[T]{at.At("c_decay").Linear(), at.At("c_decay").Param("a_log")}
	return l
}

// KDA returns Kimi delta attention: DeltaNet with a gate for each feature of a key, through at.c_decay.down and
// at.c_decay.up, and a logistic gate of its results through at.c_gate.down and at.c_gate.up.
func (at Site[T]) KDA(batch, heads, qk, length int) Layer[T] {
	l := at.deltaNet(batch, heads, qk, length, nil)
	l.decay = timeDecay[T]{at.At("c_decay").narrow(), at.At("c_decay").Param("a_log")}
	l.gate, l.act = at.At("c_gate").narrow(), Sigmoid[T]{}
	return l.at(at)
}

// narrow returns the matrices at.down and at.up in turn.
func (at Site[T]) narrow() Layer[T] {
	return chain[T]{{"down", at.At("down").Linear()}, {"up", at.At("up").Linear()}}
}
