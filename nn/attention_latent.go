package nn

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// MLA is multi-head latent attention (Xu (37)–(46), (57)): keys and values of all heads are computed from one narrow
// latent L = x·w↓ of the token, and decoding stores only the latent.
//
//	out = concat over h of softmax(q_h·k_hᵀ/√dρ + mask)·v_h, times w_proj, plus b_proj
//	q_h = x·w_q,h,  k_h = L·w↑_k,h,  v_h = L·w↑_v,h
//
// The weights times the values are (T, dh) for each head, not (T, T) as in (44) (errata X7). The inner projections have
// no biases, because they would add nothing: a key's cancels in the softmax, a value's acts as one more bias of c_proj,
// and the latent's acts as one of the two. Dropout and the mask are those of SelfAttention.
type MLA struct {
	Query, Down, UpK, UpV Layer
	heads                 heads // starting from packed queries, keys and values
	cache                 *graph.LatentCache
	scope                 graph.Scope
}

// NewMLA declares c_q (d, H·dρ), c_kv_down (d, dc), c_k_up (dc, H·dρ), c_v_up (dc, H·dh) and c_proj (H·dh, d) for a
// latent of dc features. The up-projections start at N(0, 1/dc), so that keys and values initially have the same size
// as without a latent.
func NewMLA(at Site, latent int) *MLA {
	checkLatent(at, "latent", latent)
	refuseQKNorm(at)
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

// refuseQKNorm fails if the site has a norm of queries and keys.
func refuseQKNorm(at Site) {
	if at.QKNorm != nil {
		at.Failf("a norm of queries and keys with latent attention, whose Step absorbs the matrix of the keys: " +
			"the norm would come between")
	}
}

// Forward computes keys and values from the latents. This is cheaper than absorbing them if every token is a query.
func (l *MLA) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer recoverUnbuilt(l, x, &result)
	q := l.Query.Forward(x).In(l.scope)               // q = x·w_q     (B·T, H·dρ)        (38)
	latent := l.Down.Forward(x)                       // L = x·w↓      (B·T, dc)          (37)
	k := l.UpK.Forward(latent)                        // k = L·w↑_k    (B·T, H·dρ)        (38)
	v := l.UpV.Forward(latent)                        // v = L·w↑_v    (B·T, H·dh)        (38)
	heads := l.heads.attend(q.Join(k, v).In(l.scope)) // ρ_h·v_h       (B·T, H·dh)        (57)
	return l.heads.Proj.Forward(heads)                // Σ_h ρ_h·v_h·w_proj,h  (B·T, d)   (57)
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
	return l.heads.project(graph.CachedLatentAttention(q, latent, upK, upV, mask, at, l.cache))
}

// Mixing returns T·H(dρ+dh).
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
func latentCache(at Site, latent, rotary int) *graph.LatentCache {
	sizes := graph.LatentShape{
		Batch: at.Batch, Context: at.Context, Heads: at.Heads, QK: at.QK, V: at.V, Latent: latent, Rotary: rotary,
	}
	return cacheAt(at.Caches, at.Path(), func() *graph.LatentCache { return graph.NewLatentCache(sizes) })
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
