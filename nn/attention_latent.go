package nn

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// MLA is multi-head latent attention (Xu (37)–(46), (57)): keys and values of all heads are computed from one narrow
// latent L = x·w↓ of the token, and decoding stores only the latent.
//
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + mask)·v_h, times w_proj, plus b_proj
//	q_h = x·w_q,h,  k_h = L·w↑_k,h,  v_h = L·w↑_v,h
//
// The weights times the values are (T, dh) for each head, not (T, T) as in (44) (errata X7). The inner projections have
// no biases, because they would add nothing: a key's cancels in the softmax, a value's acts as one more bias of c_proj,
// and the latent's acts as one of the two. Dropout and the mask act as in SelfAttention.
type MLA struct {
	Query, Down, UpK, UpV Layer
	heads                 heads // starting from packed queries, keys and values
	cache                 *fused.LatentCache
	scope                 graph.Scope
}

// NewMLA declares c_q (d, H·dρ), c_kv_down (d, dc), c_k_up (dc, H·dρ), c_v_up (dc, H·dh) and c_proj (H·dh, d) for a
// latent of dc features. The up-projections start at N(0, 1/dc), so that keys and values initially have the same size
// as without a latent.
func NewMLA(at Site, latent int) *MLA {
	checkLatent(at, "latent", latent)
	at.refuse("latent attention")
	if at.Rotary != nil {
		at.Failf("rotary positions rotate the %d features of a key, which a latent of %d cannot absorb: "+
			"MLARoPE has separate features for them", at.QK, latent)
	}
	return &MLA{
		Query: inner(at, "c_q", at.Embd, at.Heads*at.QK, 0.02),
		Down:  inner(at, "c_kv_down", at.Embd, latent, 0.02),
		UpK:   inner(at, "c_k_up", latent, at.Heads*at.QK, up(latent)),
		UpV:   inner(at, "c_v_up", latent, at.Heads*at.V, up(latent)),
		heads: newHeads(at, at.heads(at.QK, at.V)),
		cache: latentCache(at, latent, 0),
		scope: at.Scope,
	}
}

// Forward computes keys and values from the latents. This is cheaper than absorbing them if every token is a query.
func (l *MLA) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	q := l.Query.Forward(x).In(l.scope) // q = x·w_q     (B·T, H·dρ)        (38)
	latent := l.Down.Forward(x)         // L = x·w↓      (B·T, dc)          (37)
	k := l.UpK.Forward(latent)          // k = L·w↑_k    (B·T, H·dρ)        (38)
	v := l.UpV.Forward(latent)          // v = L·w↑_v    (B·T, H·dh)        (38)
	qkv := q.Join(k, v).In(l.scope)
	y := l.heads.results(qkv)                       // ρ_h·v_h       (B·T, H·dh)        (57)
	return l.heads.project(x, qkv, y, noPosition()) // Σ_h ρ_h·v_h·w_proj,h  (B·T, d)   (57)
}

// Step attends from the newest tokens to the cached latents of all tokens so far: dc numbers a token in place of
// H(dρ+dh). The up-projection to the keys is absorbed into the query, q_h·k_hᵀ = (q_h·w↑_k,hᵀ)·Lᵀ (41), and that to the
// values comes after the sum, ρ·v_h = (ρ·L)·w↑_v,h (46). Neither needs a law of the exponential. Only latents are
// cached, not queries as in (42), and the products of weights are not stored: w_q,h·w↑_k,hᵀ is larger than both (errata
// X6). The mask must not let a query attend to a later key.
func (l *MLA) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	mask := l.heads.causalMask()
	q, latent := l.Query.Forward(x).In(l.scope), l.Down.Forward(x)
	upK, upV := matrix(l.scope, l.UpK), matrix(l.scope, l.UpV)
	return l.heads.project(x, q, fused.CachedLatentAttention(q, latent, upK, upV, mask, at, l.cache), at)
}

// Mixing returns n·H(dρ+dh) for the mean number n of keys, as SelfAttention does.
func (l *MLA) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.heads.mixing()
}

// inner builds a matrix without bias.
func inner(at Site, name string, in, out int, std float64) Layer {
	return at.affine(name, in, []int{out}, false, graph.Normal(std))
}

// up returns the standard deviation of a matrix whose result has the same size as the latent that it multiplies.
func up(latent int) float64 { return 1 / math.Sqrt(float64(latent)) }

func checkLatent(at Site, name string, n int) {
	if n < 1 {
		at.Failf("%s %d: at least 1 feature is needed, fewer than %d make sense", name, n, at.Embd)
	}
}

// latentCache returns the cache for latents and rotated parts of keys with the given numbers of features.
func latentCache(at Site, latent, rotary int) *fused.LatentCache {
	sizes := fused.LatentShape{
		Batch: at.Batch, Context: at.Context, Heads: at.Heads, QK: at.QK, V: at.V, Latent: latent, Rotary: rotary,
	}
	return cacheAt(at.Caches, at.Path(), func() *fused.LatentCache { return fused.NewLatentCache(sizes) })
}

// matrix returns the matrix of a linear layer without bias, including its adapter.
func matrix(s graph.Scope, l Layer) graph.Expr {
	switch l := l.(type) {
	case *Linear:
		return l.Weight.In(s)
	case *LoRA:
		return l.Matrix()
	}
	s.Failf("%T: only a Linear or a LoRA can be absorbed", l)
	return graph.Expr{}
}

// MLARoPE is multi-head latent attention with decoupled rotary positions (Xu (60)–(68)). A key that is rotated by its
// position cannot be absorbed. Queries and keys therefore have two parts: dρ features from the latent that are not
// rotated, and dR features that are. The rotated part of the key is shared by all heads.
//
//	q_h = [c_q·w↑_q,h | RoPE(c_q·w_qr,h)],  k_h = [c·w↑_k,h | RoPE(x·w_kr)],  v_h = c·w↑_v,h
//	c_q = x·w_q↓,  c = x·w_kv↓,  scale 1/√(dρ+dR)
//
// The rotated part of the key is computed from the token's own features, as in the code published by DeepSeek. Xu
// computes it from the latent, which is MLALatentRoPE, and does not state that the heads share it (errata X5). Both
// widths are called d_C in print (errata X13), and the 576 numbers that a cache stores for a token are 512 of the
// latent and 64 rotated ones (errata X6b). Biases, mask and dropout are as in MLA; the site's Rotary is ignored.
type MLARoPE struct {
	DownQ, UpQ, RoPEQ       Layer
	Down, UpK, RoPEK, UpV   Layer
	heads                   heads // starting from packed queries, keys and values
	content, rotary, tokens int   // dρ, dR, n
	rope                    *RoPE
	cache                   *fused.LatentCache
	scope                   graph.Scope
}

// NewMLARoPE declares c_q_down (d, dq), c_q_up (dq, H·dρ), c_q_rope (dq, H·dR), c_kv_down (d, dc), c_k_up (dc, H·dρ),
// c_k_rope (d, dR), c_v_up (dc, H·dh) and c_proj (H·dh, d), for latents of dc features, query latents of dq features,
// and dR rotated features. dR must be even.
func NewMLARoPE(at Site, latent, queryLatent, rotary int, theta float64) *MLARoPE {
	return newMLARoPE(at, latent, queryLatent, rotary, theta, at.Embd, 0.02)
}

// newMLARoPE builds either layer: a matrix that starts at N(0, std²) computes the rotated key from source features.
func newMLARoPE(at Site, latent, queryLatent, rotary int, theta float64, source int, std float64) *MLARoPE {
	checkLatent(at, "latent", latent)
	checkLatent(at, "query latent", queryLatent)
	at.refuse("latent attention")
	rope := NewRoPE(at.At("rope"), rotary, theta)
	return &MLARoPE{
		DownQ: inner(at, "c_q_down", at.Embd, queryLatent, 0.02),
		UpQ:   inner(at, "c_q_up", queryLatent, at.Heads*at.QK, up(queryLatent)),
		RoPEQ: inner(at, "c_q_rope", queryLatent, at.Heads*rotary, up(queryLatent)),
		Down:  inner(at, "c_kv_down", at.Embd, latent, 0.02),
		UpK:   inner(at, "c_k_up", latent, at.Heads*at.QK, up(latent)),
		RoPEK: inner(at, "c_k_rope", source, rotary, std),
		UpV:   inner(at, "c_v_up", latent, at.Heads*at.V, up(latent)),

		heads: newHeads(at, at.heads(at.QK+rotary, at.V)), content: at.QK, rotary: rotary, tokens: count(at.Positions),
		rope: rope, cache: latentCache(at, latent, rotary), scope: at.Scope,
	}
}

// Forward computes attention within every sequence.
func (l *MLARoPE) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	return l.attend(x, l.Down.Forward(x), x)
}

// Step attends from the newest tokens to the cached latents and rotated keys of all tokens so far: dc + dR numbers a
// token. The parts that are not rotated are absorbed as in MLA, with the same restriction on the mask.
func (l *MLARoPE) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	return l.step(x, l.Down.Forward(x), x, at)
}

// attend computes everything after the latent c. It computes the rotated part of the key from source.
func (l *MLARoPE) attend(x, c, source graph.Expr) graph.Expr {
	kR := l.rotatedKey(source)
	if kR.Shape() == nil { // building has failed, and the number of heads is not checked
		return kR
	}
	others := slices.Repeat([]graph.Expr{kR}, max(1, l.heads.sizes.Heads)-1)
	q := l.query(x)                                         // q = [q^C | q^R]               (B·T, H(dρ+dR))  (63)
	k := l.sideBySide(l.UpK.Forward(c), kR.Join(others...)) // k = [c·w↑_k | k^R]            (B·T, H(dρ+dR))  (65)
	v := l.UpV.Forward(c)                                   // v = c·w↑_v                    (B·T, H·dh)      (66)
	qkv := q.Join(k, v)
	y := l.heads.results(qkv) // softmax(q·kᵀ/√(dρ+dR) + M)·v, projected        (62)
	return l.heads.project(x, qkv, y, noPosition())
}

func (l *MLARoPE) step(x, c, source, at graph.Expr) graph.Expr {
	mask := l.heads.causalMask()
	upK, upV := matrix(l.scope, l.UpK), matrix(l.scope, l.UpV)
	kept := c.Join(l.rotatedKey(source)) // [c | k^R]  (B·n, dc+dR)
	q := l.query(x)
	return l.heads.project(x, q, fused.CachedLatentAttention(q, kept, upK, upV, mask, at, l.cache), at)
}

// Mixing returns n·H(dρ+dR+dh) for the mean number n of keys, as SelfAttention does.
func (l *MLARoPE) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.heads.mixing()
}

func (l *MLARoPE) query(x graph.Expr) graph.Expr { // (n, d) → (n, H(dρ+dR))
	cQ := l.DownQ.Forward(x)                                                // c_q = x·w_q↓     (n, dq)
	qR := l.rope.Rotate(l.RoPEQ.Forward(cQ), l.heads.sizes.Heads, l.rotary) // RoPE(c_q·w_qr)   (n, H·dR)
	return l.sideBySide(l.UpQ.Forward(cQ), qR)
}

func (l *MLARoPE) rotatedKey(source graph.Expr) graph.Expr { // (n, d) or (n, dc) → (n, dR)
	return l.rope.Rotate(l.RoPEK.Forward(source), 1, l.rotary).In(l.scope)
}

// sideBySide joins the two parts of every head.
func (l *MLARoPE) sideBySide(content, rotated graph.Expr) graph.Expr { // (n, H·dρ), (n, H·dR) → (n, H(dρ+dR))
	rows := l.tokens * l.heads.sizes.Heads
	a, b := content.In(l.scope).Reshape(rows, l.content), rotated.Reshape(rows, l.rotary)
	return a.Join(b).Reshape(l.tokens, l.heads.sizes.Heads*(l.content+l.rotary))
}

// MLALatentRoPE is MLARoPE with the rotated part of the key computed from the latent, k^R = RoPE(c·w_kr), as printed in
// (64), (65) and (68). Its rank is at most dc, and caching it saves only time, because c is cached too (errata X5).
type MLALatentRoPE struct{ MLARoPE }

// NewMLALatentRoPE declares the same parameters as NewMLARoPE, except for c_k_rope (dc, dR).
func NewMLALatentRoPE(at Site, latent, queryLatent, rotary int, theta float64) *MLALatentRoPE {
	return &MLALatentRoPE{*newMLARoPE(at, latent, queryLatent, rotary, theta, latent, up(latent))}
}

// Forward computes attention within every sequence.
func (l *MLALatentRoPE) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	c := l.Down.Forward(x)
	return l.attend(x, c, c)
}

// Step is like MLARoPE.Step, with the rotated key from the latent.
func (l *MLALatentRoPE) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer recoverUnbuilt(l, x, &result)
	c := l.Down.Forward(x)
	return l.step(x, c, c, at)
}

// Mixing returns the Mixing of MLARoPE, or 0 for nil.
func (l *MLALatentRoPE) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.MLARoPE.Mixing()
}
