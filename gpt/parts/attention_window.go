package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func windowAttentions() []Attention {
	sinks := Option{
		Name: "sink_tokens", Help: "window, alternating: number of first tokens that stay visible beside the window",
		Check: upToContext("sink_tokens"), optional: true,
	}
	options := []Option{window(), sinks}
	return []Attention{
		{Name: "window", Options: options, New: windowed, Softmax: true},
		{Name: "alternating", Options: options, New: alternating, Softmax: true},
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

func windowed(root nn.Site, s Stack) nn.Attention {
	width, sinks := s.Options.Get("window"), s.Options.Get("sink_tokens")
	if sinks == 0 {
		return masked(root, nn.Window{Width: width})
	}
	return masked(root, nn.SinkWindow{Width: width, Sinks: sinks})
}

// alternating returns causal attention in the blocks of even index and attention in a window in the others (Diab,
// section 2.2).
func alternating(root nn.Site, s Stack) nn.Attention {
	even, odd := causal(root, s), windowed(root, s)
	return func(at nn.Site) nn.Layer {
		if at.Block%2 == 1 {
			return odd(at)
		}
		return even(at)
	}
}

// masked returns multi-headed attention under a mask that all blocks share.
func masked(root nn.Site, visible nn.Visibility) nn.Attention {
	mask := nn.NewBiasedMask(root.Sub("visible"), root.Dims, nn.All{nn.Causal{}, visible}, root.Scores)
	return func(at nn.Site) nn.Layer {
		at.Mask = mask
		return nn.NewSelfAttention(at)
	}
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
