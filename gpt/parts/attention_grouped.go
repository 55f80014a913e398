package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func groupedAttentions() []Attention {
	options := []Option{{
		Name:    "n_kv_head",
		Help:    "gqa, gqa_bias: heads of keys and values, each shared by n_head/n_kv_head heads; 0 is n_head",
		Default: func(s Stack) int { return s.NHead }, Check: checkKVHeads, optional: true,
	}}
	return []Attention{
		{Name: "gqa", Options: options, New: grouped, Groups: groups, Softmax: true},
		{Name: "gqa_bias", Options: options, New: groupedBias, Groups: groups, Softmax: true},
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

func checkKVHeads(got int, d nn.Dims) error {
	if got < 1 || d.Heads%got != 0 {
		return errors.Errorf("n_kv_head: got %d, want a divisor of n_head %d", got, d.Heads)
	}
	return nil
}
