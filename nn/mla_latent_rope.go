package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// MLALatentRoPE is MLARoPE with the rotated part of the key made of the latent, k^R = RoPE(c·w_kr), as (64), (65) and
// (68) print it: of rank dc at most, and caching it saves only time, because c is cached too (errata X5).
type MLALatentRoPE struct{ MLARoPE }

// NewMLALatentRoPE declares what NewMLARoPE does, but c_k_rope (dc, dR).
func NewMLALatentRoPE(at Site, latent, queryLatent, rotary int, theta float64) *MLALatentRoPE {
	return &MLALatentRoPE{*newMLARoPE(at, latent, queryLatent, rotary, theta, latent, up(latent))}
}

// Forward lets the tokens of every sequence meet.
func (l *MLALatentRoPE) Forward(x graph.Expr) (result graph.Expr) { // (B·T, d) → (B·T, d)
	defer whole(l, x, &result)
	c := l.Down.Forward(x)
	return l.attend(x, c, c)
}

// Step is MLARoPE's, with the rotated key of the latent.
func (l *MLALatentRoPE) Step(x, at graph.Expr) (result graph.Expr) { // (B·n, d) → (B·n, d)
	defer whole(l, x, &result)
	c := l.Down.Forward(x)
	return l.step(x, c, c, at)
}

// Mixing is that of MLARoPE; 0 for nil.
func (l *MLALatentRoPE) Mixing() float64 {
	if l == nil {
		return 0
	}
	return l.MLARoPE.Mixing()
}
