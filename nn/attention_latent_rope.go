package nn

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
)

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
// latent and 64 rotated ones (errata X6b). Biases, mask and dropout are those of MLA; the site's Rotary is ignored.
type MLARoPE struct {
	DownQ, UpQ, RoPEQ       Layer
	Down, UpK, RoPEK, UpV   Layer
	heads                   heads // starting from packed queries, keys and values
	content, rotary, tokens int   // dρ, dR, n
	rope                    *RoPE
	cache                   *graph.LatentCache
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
	refuseQKNorm(at)
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
	return l.heads.Forward(q.Join(k, v))                    // softmax(q·kᵀ/√(dρ+dR) + M)·v, projected        (62)
}

func (l *MLARoPE) step(x, c, source, at graph.Expr) graph.Expr {
	mask := l.heads.causalMask()
	upK, upV := matrix(l.scope, l.UpK), matrix(l.scope, l.UpV)
	kept := c.Join(l.rotatedKey(source)) // [c | k^R]  (B·n, dc+dR)
	return l.heads.project(graph.CachedLatentAttention(l.query(x), kept, upK, upV, mask, at, l.cache))
}

// Mixing returns T·H(dρ+dR+dh).
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

// Step is like that of MLARoPE, with the rotated key from the latent.
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
