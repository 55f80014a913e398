package nn

import "github.com/pedestrian-ml/pedestrian/graph"

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
