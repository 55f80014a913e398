package nn

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// similarity computes the weight of a key for a query in linear attention: sim(q, k) = φ(q)·φ(k).
type similarity interface {
	of(q, k graph.Expr) graph.Expr // (B, H, T, dρ), (B, H, T, dρ) → (B, H, T, T)
	features() fused.FeatureMap    // φ, for the kernel
}

// eluPlusOne is φ(x) = elu(x) + 1: x + 1 for x > 0, else eˣ.
type eluPlusOne struct{}

func (e eluPlusOne) of(q, k graph.Expr) graph.Expr { return e.phi(q).MatMulT(e.phi(k)) }

// phi returns max(x, 0) + e^min(x, 0), each with derivative 1 where the other has 0.
func (eluPlusOne) phi(x graph.Expr) graph.Expr {
	positive := x.ReLU()
	return positive.Add(x.Sub(positive).Exp())
}

func (eluPlusOne) features() fused.FeatureMap { return fused.EluPlusOne() }

// LinearAttention is multi-headed self-attention whose weights are products of features of queries and keys, not a
// softmax (Conti (15)–(17)). With sim(q, k) = φ(q)·φ(k) and φ = elu + 1, entry by entry, so that no weight is negative,
//
//	o_i = Σ_j sim(q_i, k_j)·v_j / Σ_j sim(q_i, k_j) = φ(q_i)·S / φ(q_i)·z,  S = Σ_j φ(k_j)ᵀ·v_j,  z = Σ_j φ(k_j)
//
// S (dρ, dh) and z (dρ) are the same for all queries. With a causal mask they are running sums over j ≤ i: the cost is
// linear in T, and a decoder stores S and z, for a text of any length, instead of all keys and values. The parameters
// are as in SelfAttention; there is no 1/√dρ. Dropout acts on the result: there are no weights to drop.
//
// The site's mask decides: Causal hides the future, Padding hides the keys after the ends of the sequences, and All
// combines them or hides nothing. Any other mask, such as a Window, does not split into sums and is an error. So is a
// Rotary, since elu + 1 of rotated queries and keys depends on more than their distance.
type LinearAttention struct {
	QKV, Proj Layer // as in SelfAttention
	sim       similarity
	heads     fused.LinearShape
	mask      *Mask
	padding   graph.Expr // the mask's numbers if some keys are hidden from all queries; otherwise empty
	state     *fused.LinearCache
	scope     graph.Scope
}

// NewLinearAttention declares c_attn (d, H(2dρ+dh)) and c_proj (H·dh, d).
func NewLinearAttention(at Site) *LinearAttention {
	if at.Rotary != nil {
		at.Failf("linear attention with rotary positions: " +
			"elu + 1 of rotated queries and keys depends on more than their distance")
	}
	return newLinearAttention(at, eluPlusOne{})
}

func newLinearAttention(at Site, sim similarity) *LinearAttention {
	at.refuse("linear attention")
	heads := fused.LinearShape{AttentionShape: at.heads(at.QK, at.V), Map: sim.features()}
	var padded, ok bool
	if heads.Causal, padded, ok = hides(at.Mask); !ok {
		at.Failf("linear attention with the mask %s: "+
			"only nn.Causal, nn.Padding and nn.All of them split into sums over keys", at.Mask)
	}
	l := &LinearAttention{
		QKV: newInProjection(at, "c_attn", heads.AttentionShape, at.Bias), Proj: newOutProjection(at),
		sim: sim, heads: heads, mask: at.mask(), scope: at.Scope,
		state: cacheAt(at.Caches, at.Path(), func() *fused.LinearCache { return fused.NewLinearCache(heads) }),
	}
	if padded || !at.Graph().Kernels { // the reference form uses the mask's numbers, which must exist by then
		mask := l.mask.Expr()
		if padded {
			l.padding = mask
		}
	}
	return l
}

// Forward computes attention within every sequence.
func (l *LinearAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.Proj.Forward(l.attend(l.QKV.Forward(x)))
}

// attend computes the heads' results, from packed projections to packed results. The reference form computes all T²
// weights: e^mask is 1 for a visible key and 0 for a hidden one.
func (l *LinearAttention) attend(qkv graph.Expr) graph.Expr { // (B·T, H(2dρ+dh)) → (B·T, H·dh)
	if y, ok := fused.LinearAttention(qkv, l.padding, l.heads); ok {
		return l.scope.Place("heads", y)
	}
	h, at := l.heads.AttentionShape, l.scope
	q := at.Place("q", split(qkv, h, 0, h.QK))                            // q = a·w_q + b_q    (B, H, T, dρ)
	k := at.Place("k", split(qkv, h, h.Heads*h.QK, h.QK))                 // k = a·w_k + b_k    (B, H, T, dρ)
	v := at.Place("v", split(qkv, h, 2*h.Heads*h.QK, h.V))                // v = a·w_v + b_v    (B, H, T, dh)
	sim := l.sim.of(q, k)                                                 // sim(q_i, k_j)      (B, H, T, T)   (16)
	weights := at.Place("scores", sim.Mul(l.mask.overHeads(at).Exp()))    // sim·e^mask         (B, H, T, T)
	out := weights.MatMul(v).Div(weights.Sum())                           // Σ sim·v / Σ sim    (B, H, T, dh)  (15)
	return at.Place("heads", concat(out, h.Batch*h.Context, h.Heads*h.V)) // concat             (B·T, H·dh)
}

// Mixing returns 2H·dρ·dh: a product of key and value is added to S, and S is multiplied by the query.
func (l *LinearAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	h := l.heads
	return 2 * float64(h.Heads) * float64(h.QK) * float64(h.V)
}

// Step attends from the newest tokens of every sequence to all tokens so far, using the sums over these. It equals rows
// at, at + 1, … of Forward with a causal mask. Tokens must come in order: running fails unless at is 0, which begins
// again, or the number of tokens so far.
func (l *LinearAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	if !l.heads.Causal || l.padding.Graph() != nil {
		l.scope.Failf("one token at a time: the mask %s is not nn.Causal", l.mask)
	}
	return l.Proj.Forward(l.scope.Place("heads", fused.CachedLinearAttention(step(l.QKV, x, at), at, l.state)))
}

// TaylorAttention is linear attention with the first two terms of e^(q·k) ≈ 1 + q·k for unit vectors, so that no weight
// is negative (Conti 2.1.2):
//
//	o_i = (Σ_j v_j + q̂_i·Σ_j k̂_jᵀ·v_j) / (n + q̂_i·Σ_j k̂_j),  q̂ = q/√(‖q‖² + ε),  k̂ = k/√(‖k‖² + ε)
//
// This is LinearAttention with φ(x) = [1, x̂], including sums, masks and decoding; with a causal mask the sums go to j
// ≤ i, and i takes the place of n. Conti prints two displays with sums in the wrong places (errata C5), and has no ε:
// it is the site's, and gives a row of zeros equal weights where 0/0 would be NaN. The lengths of queries and keys do
// not matter, nor does √dρ: this is not an approximation of SelfAttention with the same parameters. A Rotary preserves
// lengths, so queries and keys may be rotated: a weight then depends on their distance.
type TaylorAttention struct{ LinearAttention }

// NewTaylorAttention declares c_attn (d, H(2dρ+dh)) and c_proj (H·dh, d).
func NewTaylorAttention(at Site) *TaylorAttention {
	return &TaylorAttention{*newLinearAttention(at, taylor{at.Eps})}
}

// Forward computes attention within every sequence.
func (l *TaylorAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.LinearAttention.Forward(x)
}

// taylor is the similarity sim(q, k) = 1 + q̂·k̂.
type taylor struct{ eps float64 }

func (t taylor) of(q, k graph.Expr) graph.Expr { return t.unit(q).MatMulT(t.unit(k)).Shift(1) }

func (t taylor) unit(x graph.Expr) graph.Expr {
	return x.Div(x.Square().Sum().Shift(t.eps).Sqrt()) // x/√(‖x‖² + ε)
}

func (t taylor) features() fused.FeatureMap { return fused.Taylor(t.eps) }

// Step is like Forward, but takes only the newest tokens of every sequence.
func (l *TaylorAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.LinearAttention.Step(x, at)
}

// Mixing returns the Mixing of LinearAttention, or 0 for nil.
func (l *TaylorAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.LinearAttention.Mixing()
}
