package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// recurrences lists the layers whose heads have a matrix as their state. They take the place of an attention.
func recurrences() []Attention {
	return []Attention{
		recurrent("gla", nn.NewGLA, rejectUnevenDecay),
		recurrent("gated_deltanet", nn.NewGatedDeltaNet, rejectBias),
		recurrent("retnet", nn.NewRetNet, rejectBias),
		recurrent("deltanet", nn.NewDeltaNet, rejectBias),
		recurrent("kda", nn.NewKDA, rejectUnevenDecay),
	}
}

func recurrent(name Name, build func(nn.Site) *nn.Recurrence, check func(nn.Dims, Stack) error) Attention {
	return Attention{
		Name: name, Check: check, ungated: true,
		New: func(nn.Site, Stack) nn.Attention {
			return func(at nn.Site) nn.Layer { return build(at) }
		},
	}
}

// rejectUnevenDecay refuses rotary positions for a recurrence with a gate for each feature, and biases of scores.
func rejectUnevenDecay(d nn.Dims, s Stack) error {
	if s.Position == "rope" {
		return errors.Errorf("position: got rope, want another with attention %s: a rotation mixes features that "+
			"decay differently, so its meaning is undefined", s.Attention)
	}
	return rejectBias(d, s)
}
