package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// Attention builds the attention layer of a block.
type Attention func(at Site) Layer

// SelfAttention is multi-headed self-attention (4)–(18), (34) with the output projection of Table 2. The queries, keys
// and values of every head h are packed in the columns [q | k | v] of one projection, each [head 1 | … | H]:
//
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + mask)·v_h, times w_proj, plus b_proj
//
// Encoders use it as well: the site's mask decides which token attends to which, and Causal makes it a decoder's
// attention. The mask is added, not multiplied (errata B1), so the weight of a hidden key is exactly 0. A key's bias
// cancels in the softmax: its gradient is identically 0 (29). Dropout acts on the weights and on the result. dρ and dh
// may differ. If the site has a Cap c, a score s becomes c·tanh(s/c) before the mask is added (Gemma 2, 2024, section
// 2): no score exceeds the cap, and a key's bias no longer cancels. The kernel goes tile by tile, as hand.Flash does,
// which needs e^(x−m) = eˣ/eᵐ for the largest score m; on the exact road this holds for maxima.
//
// If the site has Sinks, a query also attends to a sink, whose score is the logit b_h of the head and whose value is 0
// (OpenAI 2025, gpt-oss; the idea is of Xiao et al. 2023, section 3.2): the weight of key j is
//
//	e^s_ij/(e^b_h + Σ_k e^s_ik)
//
// so that a head can take nothing from the tokens. The weights then sum to less than 1, and a key's bias no longer
// cancels.
type SelfAttention struct {
	QKV   Layer // [q | k | v], with q and k rotated if positions are rotary
	heads heads
	cache *fused.KVCache
}

// NewSelfAttention declares c_attn (d, H(2dρ+dh)) and c_proj (H·dh, d).
func NewSelfAttention(at Site) *SelfAttention {
	return newSelfAttention(at, at.heads(at.QK, at.V), at.Bias)
}

// newSelfAttention declares the layer with the given sizes of the heads and, if bias is true, a bias in c_attn.
func newSelfAttention(at Site, sizes fused.AttentionShape, bias bool) *SelfAttention {
	l := newUncached(at, sizes, sizes, bias)
	l.cache = l.heads.cacheAt(at, l.heads.sizes)
	return l
}

// newUncached is newSelfAttention without a cache of keys and values. To the links after the heads, results are the
// sizes of the heads.
func newUncached(at Site, sizes, results fused.AttentionShape, bias bool) *SelfAttention {
	sizes.Cap = at.limit()
	l := &SelfAttention{QKV: newInProjection(at, "c_attn", sizes, bias)}
	after, sinks := links{at.links(at.Links.After, results), at.Scope}, at.sinks()
	l.heads = newHeads(at, sizes)
	l.heads.after, l.heads.sinks = after, sinks
	return l
}

// Forward computes attention within every sequence.
func (l *SelfAttention) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := l.QKV.Forward(x)
	return l.heads.project(x, qkv, l.heads.results(qkv), noPosition())
}

// Step attends from the newest tokens of every sequence to all tokens so far, whose keys and values it has stored (the
// KV cache of section 3.2; the paper's formula lacks 1/√dρ, errata B7). It equals rows at, at + 1, … of Forward as long
// as no token before them changes; learned positions do change when a window slides (errata X9). The mask must not let
// a query attend to a later key.
func (l *SelfAttention) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	qkv := step(l.QKV, x, at)
	return l.heads.project(x, qkv, l.stepped(qkv, at), at)
}

// stepped returns the heads' results for the newest tokens.
func (l *SelfAttention) stepped(qkv, at graph.Expr) graph.Expr {
	mask := l.heads.causalMask()
	if l.heads.sinks.Graph() == nil {
		return fused.CachedAttention(qkv, mask, at, l.cache)
	}
	return fused.CachedSinkAttention(qkv, mask, l.heads.sinks, at, l.cache)
}

// Mixing returns n·H(dρ+dh) for the mean number n of keys with which a query is multiplied: all T without kernels, and
// those that the mask leaves to the tiles of the kernel.
func (l *SelfAttention) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.heads.mixing()
}

// heads is softmax attention after the projections, from packed queries, keys and values on. Layers that differ in
// these projections share it.
type heads struct {
	Proj  Layer
	sizes fused.AttentionShape
	mask  *Mask
	drop  *Dropout // of the weights
	scope graph.Scope
	sinks graph.Expr // (H), logits of the sinks; empty without
	after links      // of the results
}

// newHeads declares the mask and c_proj.
func newHeads(at Site, sizes fused.AttentionShape) heads {
	mask := at.mask()
	mask.Expr()
	return heads{
		Proj: newOutProjection(at), sizes: sizes, mask: mask, drop: NewDropout(at.At("attn_dropout")), scope: at.Scope,
	}
}

// project returns the projection of the heads' results y after their links, and names them. at is the position of a
// Step.
func (l *heads) project(x, qkv, y, at graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	in := Inside{AttentionShape: l.sizes, X: x, QKV: qkv, Y: y}
	l.after.pass(&in, &in.Y, at)
	return l.Proj.Forward(l.scope.Place("heads", in.Y))
}

// results computes the heads' results before their links. The mask is added (errata B1).
func (l *heads) results(qkv graph.Expr) graph.Expr { // (B·T, H(2dρ+dh)) → (B·T, H·dh)
	if y, ok := l.kernel(qkv); ok {
		return y
	}
	h, at := l.sizes, l.scope
	q := at.Place("q", split(qkv, h, 0, h.QK))                      // q = a·w_q + b_q  (B, H, T, dρ)  (9.a)
	k := at.Place("k", split(qkv, h, h.Heads*h.QK, h.QK))           // k = a·w_k + b_k  (B, H, T, dρ)  (9.b)
	v := at.Place("v", split(qkv, h, 2*h.Heads*h.QK, h.V))          // v = a·w_v + b_v  (B, H, T, dh)  (4)
	raw := q.MatMulT(k)                                             // ρ_raw = q·kᵀ     (B, H, T, T)   (10)
	scaled := softcap(raw.Scale(1/math.Sqrt(float64(h.QK))), h.Cap) // ρ_raw/√dρ                       (12)
	scaled = at.Place("scores", scaled)
	rho := at.Place("weights", l.softmax(scaled.Add(l.mask.overHeads(at)))) // ρ = softmax     (B, H, T, T)   (13), (15)
	out := l.drop.Forward(rho).In(at).MatMul(v)                             // ρ·v              (B, H, T, dh)  (16)
	return concat(out, h.Batch*h.Context, h.Heads*h.V)                      // concat           (B·T, H·dh)    (34)
}

// kernel returns the kernel of attend, from packed projections with keys and values of every group.
func (l *heads) kernel(qkv graph.Expr) (y graph.Expr, ok bool) {
	return fused.SinkAttention(qkv, l.mask.Expr(), l.sinks, l.sizes, l.drop.P)
}

// softmax returns the weights. With sinks, these are the softmax over a further column, b_h, without that column.
func (l *heads) softmax(scores graph.Expr) graph.Expr { // (B, H, T, T) → (B, H, T, T)
	if l.sinks.Graph() == nil {
		return scores.Softmax()
	}
	h, rows := l.sizes, l.sizes.Batch*l.sizes.Heads*l.sizes.Context
	zeros := scores.RowMax().Detach().Scale(0).Transpose(0, 2, 1, 3).Reshape(h.Batch*h.Context, h.Heads)
	b := zeros.Add(l.sinks).Reshape(h.Batch, h.Context, h.Heads, 1).Transpose(0, 2, 1, 3) // b_h  (B, H, T, 1)
	all := scores.Reshape(rows, h.Context).Join(b.Reshape(rows, 1)).Softmax()
	return all.Columns(0, h.Context).Reshape(h.Batch, h.Heads, h.Context, h.Context)
}

// sinks returns what the site's Sinks declares, or the empty Expr without Sinks.
func (s Site) sinks() (b graph.Expr) {
	if s.Sinks != nil && s.Try(func() { b = s.Sinks(s) }) && b.Graph() == nil {
		s.Failf("no sinks: the function that declares them returns an empty expression")
	}
	return b
}

// NewSinks declares sinks, the logits of the heads' sinks, which start at 0: (H).
func NewSinks(at Site) graph.Expr { return at.Param("sinks", graph.Const(0), at.Heads) }

// limit returns the site's Cap, which must be a number from 0.
func (s Site) limit() float64 {
	if !(s.Cap >= 0 && s.Cap <= math.MaxFloat64) {
		s.Failf("a cap of %v for the scores, want 0 or more", s.Cap)
	}
	return s.Cap
}

// softcap returns limit·tanh(x/limit), or x if the limit is 0.
func softcap(x graph.Expr, limit float64) graph.Expr {
	if limit == 0 {
		return x
	}
	return x.Scale(1 / limit).Tanh().Scale(limit)
}

// concat joins the results of the heads side by side.
func concat(heads graph.Expr, rows, width int) graph.Expr { // (B, H, n, dh) → (B·n, H·dh)
	return heads.Transpose(0, 2, 1, 3).Reshape(rows, width)
}

// causalMask returns the mask's numbers. It is an error if they let a query attend to a later key.
func (l *heads) causalMask() graph.Expr {
	l.mask.requireCausal(l.scope)
	return l.mask.Expr()
}

// cacheAt returns the site's cache of keys and values of the given sizes. It has room for the tokens of a window if the
// mask hides all others.
func (l *heads) cacheAt(at Site, sizes fused.AttentionShape) *fused.KVCache {
	return cacheAt(at.Caches, at.Path(), func() *fused.KVCache {
		if width, first, ok := l.mask.window(); ok {
			return fused.NewWindowCache(sizes, width, first)
		}
		return fused.NewKVCache(sizes)
	})
}

func (l *heads) mixing() float64 {
	return overKeys(l.mask.meanKeys(), l.sizes.Heads, l.sizes.QK, l.sizes.V)
}

// inProjection is the affine layer before the heads: x·w + b is the queries of all heads and the keys and values of all
// groups side by side. The site's convolution and links change them, then queries and keys are rotated if positions are
// rotary.
type inProjection struct {
	affine Layer
	before links
	heads  fused.AttentionShape
	scope  graph.Scope
}

// newInProjection declares name (d, H·dρ+G(dρ+dh)), for the keys and values of G groups of heads, and the parameters of
// the links before the heads. These are inside name if the layer has a second projection.
func newInProjection(at Site, name string, sizes fused.AttentionShape, bias bool) *inProjection {
	q, k, v := sizes.Heads*sizes.QK, sizes.Groups*sizes.QK, sizes.Groups*sizes.V
	l := &inProjection{
		affine: at.affine(name, at.Embd, []int{q, k, v}, bias, graph.Normal(0.02)), heads: sizes, scope: at.Scope,
	}
	conv := at.At(name).conv(ConvProjections, q+k+v)
	place := at
	if name != "c_attn" {
		place = at.At(name)
	}
	l.before = links{place.links(at.Links.Before, sizes), at.Scope}
	if conv.Layer != nil {
		l.before.list = slices.Insert(l.before.list, 0, Link(convolution{conv}))
	}
	if at.Rotary != nil {
		l.before.list = append(l.before.list, rotation{at.Rotary})
	}
	return l
}

// Forward returns [q | k | v].
func (l *inProjection) Forward(x graph.Expr) graph.Expr { return l.forward(x, noPosition()) }

// Step is Forward for the newest tokens of every sequence. It differs if a link combines tokens.
func (l *inProjection) Step(x, at graph.Expr) graph.Expr { return l.forward(x, at) }

// forward maps (n, d) → (n, H·dρ+G(dρ+dh)).
func (l *inProjection) forward(x, at graph.Expr) graph.Expr {
	in := Inside{AttentionShape: l.heads, X: x, QKV: l.affine.Forward(x).In(l.scope)}
	l.before.pass(&in, &in.QKV, at)
	return in.QKV
}

// split splits one block of columns of packed projections into heads.
func split(qkv graph.Expr, h fused.AttentionShape, from, size int) graph.Expr { // → (B, H, T, size)
	return qkv.Columns(from, from+h.Heads*size).Reshape(h.Batch, h.Context, h.Heads, size).Transpose(0, 2, 1, 3)
}

// outProjection is the affine layer after the heads, with dropout.
type outProjection struct {
	affine Layer
	drop   *Dropout
}

// newOutProjection declares c_proj (H·dh, d).
func newOutProjection(at Site) *outProjection {
	affine := at.affine("c_proj", at.Heads*at.V, []int{at.Embd}, at.Bias, residual(at))
	return &outProjection{affine, NewDropout(at.At("resid_dropout"))}
}

// Forward returns x·w + b after dropout.
func (l *outProjection) Forward(heads graph.Expr) graph.Expr { // (n, H·dh) → (n, d)
	return l.drop.Forward(l.affine.Forward(heads))
}

// overKeys returns the cost per token of softmax over the given number of keys: keys·H(dρ+dh). It is a float64, which
// does not overflow.
func overKeys(keys float64, heads, qk, v int) float64 {
	return keys * float64(heads) * (float64(qk) + float64(v))
}

// heads returns the sizes of attention with queries and keys of qk features and values of v. No heads share keys.
func (s Site) heads(qk, v int) fused.AttentionShape {
	return fused.AttentionShape{Batch: s.Batch, Context: s.Context, Heads: s.Heads, QK: qk, V: v, Groups: s.Heads}
}
