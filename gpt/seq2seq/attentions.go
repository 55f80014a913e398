package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// attention is how the tokens of a source look at one another. Targets have multi-headed attention in any case.
type attention struct {
	sees  func(c Config, lengths []int) nn.Visibility
	new   func(c Config) nn.Attention
	check func(c Config) error // what is impossible with it; nil is nothing
	whole bool                 // sources cannot be padded: all have source_size tokens
}

func attentions() []variant[attention] {
	full := func(Config) nn.Attention { return selfAttention }
	return []variant[attention]{
		{"full", attention{sees: padded, new: full}},
		{"window", attention{sees: windowed, new: full, check: checkWindow}},
		{"linear", attention{sees: padded, new: linear, check: rejectRoPE}},
		{"taylor", attention{sees: padded, new: taylor, check: rejectBias}},
		{"linformer", attention{sees: all, new: linformer, check: checkLinformer, whole: true}},
	}
}

func padded(_ Config, lengths []int) nn.Visibility { return nn.Padding{Lengths: lengths} }

func all(Config, []int) nn.Visibility { return nn.All{} }

func windowed(c Config, lengths []int) nn.Visibility { return near{c.Window, lengths} }

// near lets a token see those that are less than width away on either side, |i − j| < width, and no padding. Padding is
// visible to nothing, but has to see something: the last token.
type near struct {
	width   int
	lengths []int
}

// Visible says whether query i of sequence b sees key j.
func (v near) Visible(b, i, j int) bool {
	n := v.lengths[b]
	if i >= n {
		return j == n-1
	}
	return j < n && i-j < v.width && j-i < v.width
}

// PerSequence is true.
func (near) PerSequence() bool { return true }

func checkWindow(c Config) error {
	if c.Window < 1 || c.Window > field.MaxSize {
		return errors.Errorf("window: got %d, want a whole number, 1 to %d, for attention in a window", c.Window, field.MaxSize)
	}
	return nil
}

func linear(Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewLinearAttention(at) }
}

func taylor(Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewTaylorAttention(at) }
}

// rejectRoPE: features of rotated queries and keys, and mixtures of rotated keys, have lost the distances.
func rejectRoPE(c Config) error {
	if c.Position == "rope" {
		return errors.Errorf("position: got rope, want another with attention %s, which loses the distances of rotated keys", c.Attention)
	}
	return rejectBias(c)
}

func rejectBias(c Config) error {
	if c.Position == "alibi" {
		return errors.Errorf("position: got alibi, want another with attention %s, which has no scores to add it to", c.Attention)
	}
	return nil
}

func linformer(c Config) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewLinformer(at, c.MixedKeys) }
}

func checkLinformer(c Config) error {
	if c.MixedKeys < 1 || c.MixedKeys > c.SourceSize {
		return errors.Errorf("mixed_keys: got %d, want a whole number, 1 to source_size %d", c.MixedKeys, c.SourceSize)
	}
	return rejectRoPE(c)
}
