package gpt

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Attentions lists the library's, the usual one first. All of them are causal, but linformer, which is refused for
// that: it is for encoders.
func Attentions() []Attention {
	return []Attention{
		{Name: "causal", New: causal, Linears: packed},
		{Name: "window", Fields: []string{"window"}, Check: checkWindow, New: windowed, Linears: packed},
		{Name: "alternating", Fields: []string{"window"}, Check: checkWindow, New: alternating, Linears: packed, Masks: two},
		{Name: "bigbird", Fields: []string{"window", "global_tokens", "random_keys"}, Check: checkSparse, New: bigbird, Linears: packed},
		{Name: "dilated", Fields: []string{"window", "global_tokens", "dilation"}, Usual: undilated, Check: checkSparse, New: dilated, Linears: packed, Masks: pairs(1)},
		{Name: "longformer", Fields: []string{"window", "global_tokens", "dilation"}, Usual: undilated, Check: checkSparse, New: longformer, Linears: packedTwice, Mixing: twice, Masks: pairs(2)},
		{Name: "linear", Check: unturned, New: linear, Linears: packed, Mixing: states, Masks: none},
		{Name: "taylor", Check: unbiased, New: taylor, Linears: packed, Mixing: states, Masks: none},
		{Name: "linformer", Check: notCausal, New: linformer, Linears: packed},
		{Name: "mla", Fields: []string{"latent_size"}, Usual: latents, Check: unturned, New: mla, Linears: mlaLinears},
		{Name: "mla_rope", Fields: mlaFields(), Usual: latents, Check: checkMLARope, New: mlaRope, Linears: mlaRopeLinears, Mixing: turned},
		{Name: "mla_latent_rope", Fields: mlaFields(), Usual: latents, Check: checkMLARope, New: mlaLatentRope, Linears: mlaLatentRopeLinears, Mixing: turned},
	}
}

func selfAttention(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }

func causal(nn.Site, Config) nn.Attention { return selfAttention }

func linear(nn.Site, Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewLinearAttention(at) }
}

func taylor(nn.Site, Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewTaylorAttention(at) }
}

func linformer(nn.Site, Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewLinformer(at, at.Context) }
}

func notCausal(c Config) error {
	return errors.Errorf("attention: got %s, want a causal one: its keys are mixtures of all block_size %d tokens, of which each token may see those before it alone", c.Attention, c.BlockSize)
}

// packed are the matrices of multi-headed attention with one projection for queries, keys and values.
func packed(c Config) []Linear {
	d, heads := float64(c.NEmbd), float64(c.NHead)
	qk, v := heads*float64(c.QKSize), heads*float64(c.VSize)
	return []Linear{{"attn.c_attn", d, []float64{qk, qk, v}, true}, {"attn.c_proj", v, []float64{d}, true}}
}

// unturned: what is linear in products of features, or absorbed, bears neither a rotation nor a bias of the scores.
func unturned(c Config) error {
	if c.Position == "rope" {
		return errors.Errorf("position: got rope, want another with attention %s: rotated keys can be neither summed nor absorbed", c.Attention)
	}
	return unbiased(c)
}

func unbiased(c Config) error {
	if c.Position == "alibi" && c.Attention != "mla" {
		return errors.Errorf("position: got alibi, want another with attention %s, which has no scores to add it to", c.Attention)
	}
	return nil
}

// states is what the running sums of a linear attention cost: a product dρ × dh added to them, and one with them.
func states(c Config) float64 { return 2 * float64(c.NHead) * float64(c.QKSize) * float64(c.VSize) }

// none is for attention that is linear in T and never asks for its mask's numbers.
func none(Config) float64 { return 0 }
