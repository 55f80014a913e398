package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Linformer is multi-headed self-attention to k' mixtures of the T keys and of the T values of a sequence, so that the
// weights are (T, k') and the cost is linear in T (Conti (19)):
//
//	head = softmax(q·(E·k)ᵀ/√dρ)·(F·v),  E, F (k', T)
//
// One pair E, F serves all heads of the layer. E = F = 1 is attention without a mask. The mixtures include every token
// of the context, so T is fixed, nothing can be hidden, and text cannot be generated token by token: the layer is for
// encoders. It has the parameters of SelfAttention, E and F. (19) gives F·v the shape (k', d) of a model with
// one head (errata C7). Dropout acts on the weights and on the result.
type Linformer struct {
	QKV, Proj Layer
	E, F      graph.Expr // (k', T)
	heads     crossHeads
}

// NewLinformer declares c_attn (d, H(2dρ+dh)), c_proj (H·dh, d), and e and f (mixed, T), normal with variance 1/mixed
// as in the publication of the method: then E[eᵀe] = 1. mixed is 1 … T.
func NewLinformer(at Site, mixed int) *Linformer {
	t := at.Context
	const because = "linformer: keys are mixed over the entire context of %d tokens, so "
	switch causal, padded, ok := hides(at.Mask); {
	case causal:
		at.Failf(because+"a causal mask cannot be kept", t)
	case padded || !ok:
		at.Failf(because+"the mask %s cannot be kept", t, at.Mask)
	}
	if mixed < 1 || mixed > t {
		at.Failf("linformer: %d mixed keys for a context of %d tokens, want 1 … %d", mixed, t, t)
		mixed = 1
	}
	if at.Rotary != nil {
		at.Failf(because+"rotary positions lose their distances", t)
	}
	at.refuse("linformer")
	init := graph.Normal(1 / math.Sqrt(float64(mixed)))
	return &Linformer{
		QKV: newInProjection(at, "c_attn", at.heads(at.QK, at.V), at.Bias), Proj: newOutProjection(at),
		E: at.Sub("e").Param("weight", init, mixed, t), F: at.Sub("f").Param("weight", init, mixed, t),
		heads: crossHeads{
			sizes: fused.CrossShape{Batch: at.Batch, Queries: t, Keys: mixed, Heads: at.Heads, QK: at.QK, V: at.V},
			mask:  at.Value("none", graph.Const(0), t, mixed), // hides nothing
			drop:  *NewDropout(at.At("attn_dropout")), scope: at.Scope,
		},
	}
}

// Forward computes the attention of every token to the mixtures.
func (l *Linformer) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	qk, v := l.heads.sizes.Heads*l.heads.sizes.QK, l.heads.sizes.Heads*l.heads.sizes.V
	qkv := l.QKV.Forward(x)
	q := qkv.Columns(0, qk)                                       // q          (B·T, H·dρ)
	mixedK := l.mix(l.E, qkv.Columns(qk, 2*qk))                   // K' = E·k   (B·k', H·dρ)
	mixedV := l.mix(l.F, qkv.Columns(2*qk, 2*qk+v))               // V' = F·v   (B·k', H·dh)
	return l.Proj.Forward(l.heads.attend(q, mixedK.Join(mixedV))) // P·V', projected  (B·T, d)  Conti (19)
}

// mix returns w·x for every sequence.
func (l *Linformer) mix(w, x graph.Expr) graph.Expr { // (k', T), (B·T, c) → (B·k', c)
	if y, ok := fused.MixTokens(w, x); ok {
		return y
	}
	h := l.heads.sizes
	cols := h.Heads * h.QK
	if s := x.Shape(); len(s) == 2 {
		cols = s[1]
	}
	columns := x.Reshape(h.Batch, h.Queries, cols).Transpose(0, 2, 1).Reshape(h.Batch*cols, h.Queries) // (B·c, T)
	mixed := columns.MatMulT(w.In(l.heads.scope))                                                      // (B·c, k')
	return mixed.Reshape(h.Batch, cols, h.Keys).Transpose(0, 2, 1).Reshape(h.Batch*h.Keys, cols)
}

// Mixing returns 2k'·H(dρ+dh): a token enters k' mixtures of keys and of values, and attends to k' mixtures.
func (l *Linformer) Mixing() float64 {
	if l == nil {
		return 0
	}
	return 2 * float64(l.heads.mixing())
}
