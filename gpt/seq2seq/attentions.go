package seq2seq

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// attention describes how the tokens of a source attend to one another. Targets always have multi-head attention.
type attention struct {
	parts.Attention
	sees  func(s parts.Stack, lengths []int) nn.Visibility // nil for everything but padding
	fixed bool                                             // sources cannot be padded: all have source_size tokens
}

// attentions returns the attentions of the encoder: the user-defined ones, and the library's that need no causal mask.
func (c Config) attentions() (list []attention) {
	for _, a := range c.Parts.Attentions {
		list = append(list, attention{Attention: a})
	}
	library := parts.Attentions()
	full, linear, taylor := parts.Find(library, "causal"), parts.Find(library, "linear"), parts.Find(library, "taylor")
	windowed, linformer := full, linear
	full.Name, windowed.Name, linformer.Name = "full", "window", "linformer"
	windowed.Options = []parts.Option{{
		Name: "window", Check: checkWindow,
		Help: "w of attention window: tokens of a source attend to one another if |i − j| < w",
	}}
	linformer.Options = []parts.Option{{
		Name: "mixed_keys", Check: checkMixedKeys, Default: func(parts.Stack) int { return (c.SourceSize + 1) / 2 },
		Help: "mixtures of keys in attention linformer; 0 means half of source_size",
	}}
	linformer.New = func(_ nn.Site, s parts.Stack) nn.Attention {
		return func(at nn.Site) nn.Layer { return nn.NewLinformer(at, s.Options.Get("mixed_keys")) }
	}
	return append(list,
		attention{Attention: full},
		attention{Attention: windowed, sees: nearby},
		attention{Attention: linear},
		attention{Attention: taylor},
		attention{
			Attention: linformer, fixed: true, sees: func(parts.Stack, []int) nn.Visibility { return nn.All{} },
		})
}

// attention returns the attention that c names.
func (c Config) attention() attention { return parts.Find(c.attentions(), cmp.Or(c.Attention, "full")) }

// mask returns which tokens of the sources see which.
func (a attention) mask(s parts.Stack, lengths []int) nn.Visibility {
	if a.sees == nil {
		return nn.Padding{Lengths: lengths}
	}
	return a.sees(s, lengths)
}

func checkWindow(got int, _ nn.Dims) error {
	if got < 1 {
		return errors.Errorf("window: got %d, want a whole number, 1 to %d, for attention in a window",
			got, field.MaxSize)
	}
	return nil
}

func checkMixedKeys(got int, d nn.Dims) error {
	if got < 1 || got > d.Context {
		return errors.Errorf("mixed_keys: got %d, want a whole number, 1 to source_size %d", got, d.Context)
	}
	return nil
}

func nearby(s parts.Stack, lengths []int) nn.Visibility {
	return near{s.Options.Get("window"), lengths}
}

// near makes visible to a token the tokens less than width away on either side, |i − j| < width, but no padding.
// Padding is visible to no token, but must see something: the last token.
type near struct {
	width   int
	lengths []int
}

// Visible reports whether query i of sequence b sees key j.
func (v near) Visible(b, i, j int) bool {
	n := v.lengths[b]
	if i >= n {
		return j == n-1
	}
	return j < n && i-j < v.width && j-i < v.width
}

// PerSequence returns true.
func (near) PerSequence() bool { return true }
