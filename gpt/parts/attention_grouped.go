package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func groupedAttentions() []Attention {
	heads := Option{
		Name:    "n_kv_head",
		Help:    "gqa*: heads of keys and values, each shared by n_head/n_kv_head heads; 0 is n_head",
		Default: func(s Stack) int { return s.NHead }, Check: checkKVHeads, optional: true,
	}
	interval := Option{
		Name: "full_attention_interval",
		Help: "gqa_window: leave the window out of every k-th block, such as 6; 0 leaves it out of none",
		Check: func(got int, d nn.Dims) error {
			if got > d.Blocks {
				return errors.Errorf("full_attention_interval: got %d, want at most n_layer %d", got, d.Blocks)
			}
			return nil
		},
		optional: true,
	}
	return []Attention{
		{Name: "gqa", Options: []Option{heads}, New: grouped, Groups: groups, Softmax: true, biased: true},
		{Name: "gqa_bias", Options: []Option{heads}, New: groupedBias, Groups: groups, Softmax: true},
		{
			Name: "gqa_window", Options: []Option{heads, window(), interval}, New: groupedWindow, Groups: groups,
			Softmax: true, biased: true,
		},
	}
}

func groups(s Stack) int { return s.Options.Get("n_kv_head") }

func grouped(_ nn.Site, s Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewGroupedAttention(at, groups(s), at.Bias) }
}

// groupedBias has biases for queries, keys and values, and none in the projection after the heads, like Qwen2,
// regardless of the field bias.
func groupedBias(_ nn.Site, s Stack) nn.Attention {
	return func(at nn.Site) nn.Layer {
		at.Bias = false
		return nn.NewGroupedAttention(at, groups(s), true)
	}
}

// groupedWindow is grouped in a window, except in every block of the interval, where a token attends to all earlier
// ones (Jiang et al. 2023, section 2; Gemma 2 and 3 with intervals of 2 and 6).
func groupedWindow(root nn.Site, s Stack) nn.Attention {
	full := grouped(root, s)
	return everyNth(s.Options.Get("full_attention_interval"), full, under(sharedMask(root, windowOf(s)), full))
}

func checkKVHeads(got int, d nn.Dims) error {
	if got < 1 || d.Heads%got != 0 {
		return errors.Errorf("n_kv_head: got %d, want a divisor of n_head %d", got, d.Heads)
	}
	return nil
}
