package gpt

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Attentions lists the library's, the usual one first. All of them are causal.
func Attentions() []Attention {
	return []Attention{
		{Name: "causal", New: causal, Linears: packed},
		{Name: "window", Fields: []string{"window"}, Check: checkWindow, New: windowed, Linears: packed},
		{Name: "alternating", Fields: []string{"window"}, Check: checkWindow, New: alternating, Linears: packed},
	}
}

// packed are the matrices of multi-headed attention with one projection for queries, keys and values.
func packed(c Config) []Linear {
	d, heads := float64(c.NEmbd), float64(c.NHead)
	qk, v := heads*float64(c.QKSize), heads*float64(c.VSize)
	return []Linear{{"attn.c_attn", d, []float64{qk, qk, v}, true}, {"attn.c_proj", v, []float64{d}, true}}
}

func selfAttention(at nn.Site) nn.Layer { return nn.NewCausalSelfAttention(at) }

func causal(nn.Site, Config) nn.Attention { return selfAttention }

// masked is multi-headed attention under a mask that all blocks share.
func masked(root nn.Site, see nn.Visibility) nn.Attention {
	mask := nn.NewMask(root.Sub("visible"), root.Dims, nn.All{nn.Causal{}, see})
	return func(at nn.Site) nn.Layer {
		at.Mask = mask
		return nn.NewCausalSelfAttention(at)
	}
}

func windowed(root nn.Site, c Config) nn.Attention { return masked(root, nn.Window{Width: c.Window}) }

// alternating is causal attention in the blocks of even index and attention in a window in the others (Diab, section 2.2).
func alternating(root nn.Site, c Config) nn.Attention {
	odd := windowed(root, c)
	return func(at nn.Site) nn.Layer {
		if at.Block%2 == 1 {
			return odd(at)
		}
		return nn.NewCausalSelfAttention(at)
	}
}

func checkWindow(c Config) error {
	if c.Window < 1 || c.Window > c.BlockSize {
		return errors.Errorf("window: got %d, want 1 to block_size %d", c.Window, c.BlockSize)
	}
	return nil
}
