package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func windowAttentions() []Attention {
	sinks := Option{
		Name: "sink_tokens", Help: "window, alternating*: number of first tokens that stay visible beside the window",
		Check: upToContext("sink_tokens"), optional: true,
	}
	options := []Option{window(), sinks}
	return []Attention{
		{Name: "window", Options: options, New: windowed, Softmax: true, biased: true},
		{Name: "alternating", Options: options, New: alternating, Softmax: true, biased: true},
		{Name: "alternating_proj_bias", Options: options, New: alternatingProjBias, Softmax: true},
	}
}

func window() Option {
	return Option{
		Name: "window", Help: "number of tokens that a query attends to in a window, including its own",
		Check: func(got int, d nn.Dims) error {
			if got < 1 || got > d.Context {
				return errors.Errorf("window: got %d, want 1 to block_size %d", got, d.Context)
			}
			return nil
		},
	}
}

func windowed(root nn.Site, s Stack) nn.Attention { return masked(root, windowOf(s)) }

// windowOf returns the window of a stack, beside which the first tokens may stay visible.
func windowOf(s Stack) nn.Visibility {
	width, sinks := s.Options.Get("window"), s.Options.Get("sink_tokens")
	if sinks == 0 {
		return nn.Window{Width: width}
	}
	return nn.SinkWindow{Width: width, Sinks: sinks}
}

// alternating returns causal attention in the blocks of even index and attention in a window in the others (Diab,
// section 2.2).
func alternating(root nn.Site, s Stack) nn.Attention {
	return everyNth(2, windowed(root, s), causal(root, s))
}

// alternatingProjBias is alternating without biases of queries, keys and values, like GPT-Neo (Black et al. 2021). The
// field bias determines the bias of the projection after the heads.
func alternatingProjBias(root nn.Site, s Stack) nn.Attention {
	full := func(at nn.Site) nn.Layer { return nn.NewGroupedAttention(at, at.Heads, false) }
	return everyNth(2, under(sharedMask(root, windowOf(s)), full), full)
}

// masked returns multi-headed attention under a mask that all blocks share.
func masked(root nn.Site, visible nn.Visibility) nn.Attention {
	return under(sharedMask(root, visible), causal(root, Stack{}))
}

// under returns an attention under another mask.
func under(mask *nn.Mask, a nn.Attention) nn.Attention {
	return func(at nn.Site) nn.Layer {
		at.Mask = mask
		return a(at)
	}
}

// sharedMask returns the mask of blocks that see what is visible of the tokens before them.
func sharedMask(root nn.Site, visible nn.Visibility) *nn.Mask {
	return nn.NewBiasedMask(root.Sub("visible"), root.Dims, nn.All{nn.Causal{}, visible}, root.Scores)
}

// upToContext returns the check of an option that counts tokens of a sequence.
func upToContext(name string) func(got int, d nn.Dims) error {
	return func(got int, d nn.Dims) error {
		if got > d.Context {
			return errors.Errorf("%s: got %d, want at most block_size %d", name, got, d.Context)
		}
		return nil
	}
}
