package gpt

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// masked is multi-headed attention under a mask that all blocks share.
func masked(root nn.Site, see nn.Visibility) nn.Attention {
	mask := nn.NewBiasedMask(root.Sub("visible"), root.Dims, nn.All{nn.Causal{}, see}, root.Scores)
	return func(at nn.Site) nn.Layer {
		at.Mask = mask
		return nn.NewSelfAttention(at)
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
		return nn.NewSelfAttention(at)
	}
}

// bigbird draws its random keys the same way for every model of the same sizes: they belong to the network, and the seed
// of a run does not.
func bigbird(root nn.Site, c Config) nn.Attention {
	return masked(root, nn.BigBird{Width: bothSides(c), Global: first(c.GlobalTokens), Random: c.RandomKeys, Seed: 1})
}

func dilated(root nn.Site, c Config) nn.Attention {
	return masked(root, nn.Dilated{Width: bothSides(c), Dilation: dilations(c), Global: first(c.GlobalTokens)})
}

// longformer is dilated with projections of their own for the global tokens.
func longformer(root nn.Site, c Config) nn.Attention {
	mask := nn.NewLongformerMask(root.Scope, root.Mask, nn.Dilated{Width: bothSides(c), Dilation: dilations(c), Global: first(c.GlobalTokens)})
	return func(at nn.Site) nn.Layer { return nn.NewLongformer(at, mask) }
}

// packedTwice has a second projection for global tokens.
func packedTwice(c Config) []Linear {
	list := packed(c)
	global := list[0]
	global.Name = "attn.c_attn_global"
	return append(list, global)
}

// bothSides is the width of a window that reaches as far to the right, of which a causal mask leaves c.Window.
func bothSides(c Config) int { return 2*c.Window - 1 }

func first(n int) (tokens []int) {
	for i := range n {
		tokens = append(tokens, i)
	}
	return tokens
}

// dilations go evenly from 1 in the first head to c.Dilation in the last.
func dilations(c Config) (list []int) {
	for h := range c.NHead {
		list = append(list, 1+h*(c.Dilation-1)/max(1, c.NHead-1))
	}
	return list
}

func undilated(c *Config) { c.Dilation = cmp.Or(c.Dilation, 1) }

func checkWindow(c Config) error {
	if c.Window < 1 || c.Window > c.BlockSize {
		return errors.Errorf("window: got %d, want 1 to block_size %d", c.Window, c.BlockSize)
	}
	return nil
}

func checkSparse(c Config) error {
	for _, f := range []struct {
		name string
		got  int
	}{{"global_tokens", c.GlobalTokens}, {"random_keys", c.RandomKeys}, {"dilation", c.Dilation}} {
		if f.got > c.BlockSize {
			return errors.Errorf("%s: got %d, want at most block_size %d", f.name, f.got, c.BlockSize)
		}
	}
	return checkWindow(c)
}

// twice is attention to two keys of every token.
func twice(c Config) float64 {
	return 2 * float64(c.BlockSize) * float64(c.NHead) * float64(c.QKSize+c.VSize)
}

// two is the causal mask of every model and one beside it.
func two(c Config) float64 { return 2 * oneMask(c) }

// oneMask is (T, T), for every head where biases differ.
func oneMask(c Config) float64 {
	n := float64(c.BlockSize) * float64(c.BlockSize)
	if c.Position == "alibi" {
		n *= float64(c.NHead)
	}
	return n
}

// pairs are so many masks (T, T) for every head.
func pairs(masks float64) func(c Config) float64 {
	return func(c Config) float64 { return masks * float64(c.NHead) * float64(c.BlockSize) * float64(c.BlockSize) }
}
