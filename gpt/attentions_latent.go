package gpt

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func mla(_ nn.Site, c Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewMLA(at, c.LatentSize) }
}

func mlaRope(_ nn.Site, c Config) nn.Attention {
	return func(at nn.Site) nn.Layer {
		return nn.NewMLARoPE(at, c.LatentSize, c.QLatentSize, c.RopeSize, c.RopeTheta)
	}
}

func mlaLatentRope(_ nn.Site, c Config) nn.Attention {
	return func(at nn.Site) nn.Layer {
		return nn.NewMLALatentRoPE(at, c.LatentSize, c.QLatentSize, c.RopeSize, c.RopeTheta)
	}
}

func mlaFields() []string { return []string{"latent_size", "q_latent_size", "rope_size"} }

// latents are the usual sizes.
func latents(c *Config) {
	c.LatentSize = cmp.Or(c.LatentSize, max(1, c.NEmbd/4))
	if c.Attention != "mla" {
		c.QLatentSize = cmp.Or(c.QLatentSize, max(1, c.NEmbd/2))
		c.RopeSize = cmp.Or(c.RopeSize, max(2, c.QKSize/4*2))
	}
}

func checkMLARope(c Config) error {
	if c.Position == "rope" {
		return errors.Errorf("position: got rope, want another with attention %s, which turns a part of queries and keys by itself", c.Attention)
	}
	if c.RopeSize%2 != 0 {
		return errors.Errorf("rope_size: got %d, want an even number, such as %d, for rotary positions, which turn pairs", c.RopeSize, c.RopeSize+1)
	}
	return nil
}

// mlaLinears are nn.MLA's; what is inside has no biases.
func mlaLinears(c Config) []Linear {
	s := latentSizes(c)
	return []Linear{
		{"attn.c_q", s.d, []float64{s.qk}, false},
		{"attn.c_kv_down", s.d, []float64{s.latent}, false},
		{"attn.c_k_up", s.latent, []float64{s.qk}, false},
		{"attn.c_v_up", s.latent, []float64{s.v}, false},
		{"attn.c_proj", s.v, []float64{s.d}, true},
	}
}

// mlaRopeLinears are nn.MLARoPE's.
func mlaRopeLinears(c Config) []Linear { return turning(c, float64(c.NEmbd)) }

// mlaLatentRopeLinears are nn.MLALatentRoPE's.
func mlaLatentRopeLinears(c Config) []Linear { return turning(c, float64(c.LatentSize)) }

func turning(c Config, source float64) []Linear {
	s := latentSizes(c)
	heads, rotary, queries := float64(c.NHead), float64(c.RopeSize), float64(c.QLatentSize)
	return append([]Linear{
		{"attn.c_q_down", s.d, []float64{queries}, false},
		{"attn.c_q_up", queries, []float64{s.qk}, false},
		{"attn.c_q_rope", queries, []float64{heads * rotary}, false},
		{"attn.c_k_rope", source, []float64{rotary}, false},
	}, mlaLinears(c)[1:]...)
}

type sizesOfLatents struct{ d, qk, v, latent float64 }

func latentSizes(c Config) sizesOfLatents {
	heads := float64(c.NHead)
	return sizesOfLatents{float64(c.NEmbd), heads * float64(c.QKSize), heads * float64(c.VSize), float64(c.LatentSize)}
}

// turned is what attention costs with wider queries and keys.
func turned(c Config) float64 {
	return float64(c.BlockSize) * float64(c.NHead) * float64(c.QKSize+c.RopeSize+c.VSize)
}
