package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

func linearAttentions() []Attention {
	return []Attention{
		{Name: "linear", Check: rejectPlaces, New: linear, ungated: true},
		{Name: "taylor", Check: rejectBias, New: taylor, ungated: true},
		{Name: "linformer", Check: rejectCausal, New: linformer, ungated: true},
	}
}

func linear(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewLinearAttention(at) }
}

func taylor(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewTaylorAttention(at) }
}

func rejectPlaces(d nn.Dims, s Stack) error {
	if err := rejectRoPE(d, s); err != nil {
		return err
	}
	return rejectBias(d, s)
}

func linformer(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewLinformer(at, at.Context) }
}

func rejectCausal(d nn.Dims, s Stack) error {
	return errors.Errorf("attention: got %s, want a causal one: its keys are mixtures of all block_size %d tokens, "+
		"but a token may only see earlier ones", s.Attention, d.Context)
}
