package parts

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// recurrences lists the layers that carry a state from token to token. They take the place of an attention.
func recurrences() []Attention {
	groups := Option{
		Name: "n_groups", Help: "mamba2: groups of heads that share queries and keys; 0 is 1",
		Default: func(Stack) int { return 1 }, Check: checkGroups, optional: true,
	}
	return []Attention{
		recurrent("gla", nn.NewGLA, rejectUnevenDecay),
		recurrent("gated_deltanet", nn.NewGatedDeltaNet, rejectBias),
		recurrent("gated_deltanet_neg_eigval", nn.NewGatedDeltaNetNegEigval, rejectBias),
		recurrent("retnet", nn.NewRetNet, rejectBias),
		recurrent("deltanet", nn.NewDeltaNet, rejectBias),
		recurrent("deltanet_neg_eigval", nn.NewDeltaNetNegEigval, rejectBias),
		recurrent("kda", nn.NewKDA, rejectUnevenDecay),
		{Name: "mamba2", Options: []Option{groups}, Check: rejectBias, New: mamba2, ungated: true, carries: true},
		{Name: "mingru", Check: rejectPlacesOfQueries, New: minGRU, ungated: true, carries: true},
		{Name: "rglru", Check: rejectPlacesOfQueries, New: rgLRU, ungated: true, carries: true},
	}
}

func recurrent(name Name, build func(nn.Site) *nn.Recurrence, check func(nn.Dims, Stack) error) Attention {
	return Attention{
		Name: name, Check: check, ungated: true, carries: true,
		New: func(nn.Site, Stack) nn.Attention {
			return func(at nn.Site) nn.Layer { return build(at) }
		},
	}
}

func mamba2(_ nn.Site, s Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewMamba2(at, s.Options.Get("n_groups")) }
}

func minGRU(nn.Site, Stack) nn.Attention {
	return func(at nn.Site) nn.Layer { return nn.NewMinGRU(at) }
}

func rgLRU(nn.Site, Stack) nn.Attention { return func(at nn.Site) nn.Layer { return nn.NewRGLRU(at) } }

// rejectPlacesOfQueries refuses rotary positions for a recurrence without queries and keys, and biases of scores.
func rejectPlacesOfQueries(d nn.Dims, s Stack) error {
	if err := rejectPosition("rope", s, ": it has no queries and keys to rotate"); err != nil {
		return err
	}
	return rejectBias(d, s)
}

func checkGroups(got int, d nn.Dims) error {
	if got < 1 || d.Heads%got != 0 {
		return errors.Errorf("n_groups: got %d, want a divisor of n_head %d", got, d.Heads)
	}
	return nil
}

// rejectUnevenDecay refuses rotary positions for a recurrence with a gate for each feature, and biases of scores.
func rejectUnevenDecay(d nn.Dims, s Stack) error {
	if s.Position == "rope" {
		return errors.Errorf("position: got rope, want another with attention %s: a rotation mixes features that "+
			"decay differently, so its meaning is undefined", s.Attention)
	}
	return rejectBias(d, s)
}
