package verify

import (
	"fmt"
	"strings"
)

// WithSigma has ε beside σ, and large enough to matter.
func WithSigma(f *Fixture) { f.Norm, f.Eps = NormSigma, 0.1 }

// WithPlain has norms without gain and shift.
func WithPlain(f *Fixture) {
	f.Norm = NormPlain
	f.drop(func(name string) bool { return strings.Contains(name, "ln_") })
}

// WithSinusoids has waves for positions.
func WithSinusoids(f *Fixture) {
	f.Position = SinusoidalPositions
	f.drop(func(name string) bool { return strings.HasPrefix(name, "wpe") })
}

// WithLinear has linear attention.
func WithLinear(f *Fixture) { f.Mixing = LinearMixing }

// WithTaylor has first-order attention.
func WithTaylor(f *Fixture) { f.Mixing = TaylorMixing }

// WithElman has recurrent blocks.
func WithElman(f *Fixture) {
	f.Recurrent = true
	f.drop(func(name string) bool { return strings.HasPrefix(name, "h.") || strings.HasPrefix(name, "ln_f") })
	for i := range f.Layers {
		f.linear(fmt.Sprintf("h.%d.c_input", i), fixtureFeatures, fixtureFeatures)
		f.weight(fmt.Sprintf("h.%d", i), fixtureFeatures, fixtureFeatures)
	}
}

// WithLongformer has windows of both sides that a causal mask halves, and a global token with projections of its own.
func WithLongformer(f *Fixture) {
	f.Mixing = LongformerMixing
	for i := range f.Layers {
		f.linear(fmt.Sprintf("h.%d.attn.c_attn_global", i), fixtureFeatures, fixtureHeads*(2*fixtureQK+fixtureValues))
	}
	causal, global := CausalMask(fixtureTokens), GlobalMask(fixtureTokens, []int{1})
	f.Windows = func(head int) LongformerMask {
		local := Except(DilatedMask(fixtureTokens, 3, 1+head), global)
		return LongformerMask{Local: local.Add(causal), Global: global.Add(causal)}
	}
}

// WithLatents makes queries, keys and values of latents, with a part that turns.
func WithLatents(f *Fixture) {
	const latent, queries, turned = 4, 7, 2
	f.Mixing, f.Theta = LatentRotaryMixing, 10
	f.drop(func(name string) bool { return strings.Contains(name, "c_attn") })
	for i := range f.Layers {
		h := fmt.Sprintf("h.%d.attn.", i)
		f.weight(h+"c_q_down", fixtureFeatures, queries)
		f.weight(h+"c_q_up", queries, fixtureHeads*fixtureQK)
		f.weight(h+"c_q_rope", queries, fixtureHeads*turned)
		f.weight(h+"c_kv_down", fixtureFeatures, latent)
		f.weight(h+"c_k_up", latent, fixtureHeads*fixtureQK)
		f.weight(h+"c_k_rope", fixtureFeatures, turned)
		f.weight(h+"c_v_up", latent, fixtureHeads*fixtureValues)
	}
}

func (f *Fixture) drop(which func(name string) bool) {
	for name := range f.Parameters {
		if which(name) {
			delete(f.Parameters, name)
		}
	}
}
