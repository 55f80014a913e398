package parts

import (
	"slices"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// rotation is a Rotary that records whether it was used.
type rotation struct {
	nn.Rotary
	used bool
}

// Rotate calls the Rotary's Rotate.
func (r *rotation) Rotate(x graph.Expr, groups, size int) graph.Expr {
	r.used = true
	return r.Rotary.Rotate(x, groups, size)
}

// biases is a Bias that records whether it was used. The flag is atomic because several goroutines write the entries of
// a mask.
type biases struct {
	of   nn.Bias
	used atomic.Bool
}

// Bias calls the Bias's Bias.
func (b *biases) Bias(head, i, j int) float64 {
	if !b.used.Load() {
		b.used.Store(true)
	}
	return b.of.Bias(head, i, j)
}

// Check calls the Bias's Check, if it has one.
func (b *biases) Check(d nn.Dims) error {
	if c, ok := b.of.(nn.Checker); ok {
		return c.Check(d)
	}
	return nil
}

// CheckUsed must be called after Forward. It returns an error if the position provides a rotation or biases of scores
// that no layer has used: the model would not distinguish positions. Biases are not checked on an Outline, where they
// are never computed. It is also an error if no layer has built the norm of queries and keys, the gate, the sinks, the
// mixed values or a short convolution, or if blocks leave out a rotation and the position provides none.
func (b *Body) CheckUsed() error {
	s := b.stack
	switch {
	case b.scope.Graph().Err() != nil:
		return nil
	case s.NoRopeLayerInterval != 0 && b.rotation == nil:
		return errors.Errorf("no_rope_layer_interval: got %d, want 0 with position %s, which rotates nothing",
			s.NoRopeLayerInterval, s.Position)
	case b.rotation != nil && !b.rotation.used:
		return errors.Errorf("position: got %s, and attention %s in block %s never calls Rotate of its Site's Rotary: "+
			"want an attention that does, such as causal, or position learned, sinusoidal or none",
			s.Position, s.Attention, s.Block)
	case b.gated != nil && !*b.gated:
		return errors.Errorf("attn_gate: got %s, and attention %s in block %s never calls Gate of its Site: "+
			"want an attention that does, such as causal, or attn_gate none", s.AttnGate, s.Attention, s.Block)
	case b.sunk != nil && !*b.sunk:
		return errors.Errorf("attn_sinks: got %s, and attention %s in block %s never calls Sinks of its Site: "+
			"want an attention that does, such as causal, or attn_sinks none", s.AttnSinks, s.Attention, s.Block)
	case b.normed != nil && !*b.normed:
		return errors.Errorf("qk_norm: got %s, and attention %s in block %s never calls QKNorm of its Site: "+
			"want an attention that does, such as causal, or qk_norm none", s.QKNorm, s.Attention, s.Block)
	case b.values != nil && !b.values.Used():
		return errors.Errorf("value_residual: got %s, and attention %s in block %s never mixes its values: want an "+
			"attention that does, such as causal, or value_residual none", s.ValueResidual, s.Attention, s.Block)
	case b.unconvolved() != "":
		return errors.Errorf("short_conv: got %s, and no layer of attention %s, mlp %s and block %s calls Conv of its "+
			"Site at place %s: want a part that does, or short_conv none",
			s.ShortConv, s.Attention, s.MLP, s.Block, b.unconvolved())
	case b.biases != nil && !b.biases.used.Load() && !b.scope.Graph().Outlined():
		return errors.Errorf("position: got %s, and attention %s in block %s never uses its Site's Mask or Scores: "+
			"want an attention that does, such as causal, or position learned, sinusoidal or none",
			s.Position, s.Attention, s.Block)
	}
	return nil
}

// unconvolved returns the first place of the short convolutions where no layer has built one, or an empty string.
func (b *Body) unconvolved() nn.ConvPlace {
	for _, place := range Find(ShortConvs(), b.stack.ShortConv).places {
		if !slices.Contains(b.convolved, place) {
			return place
		}
	}
	return ""
}
