package parts

import (
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

// Rotate is that of the Rotary.
func (r *rotation) Rotate(x graph.Expr, groups, size int) graph.Expr {
	r.used = true
	return r.Rotary.Rotate(x, groups, size)
}

// biases is a Bias that records whether it was used; entries of a mask are written by several goroutines.
type biases struct {
	of   nn.Bias
	used atomic.Bool
}

// Bias is that of the Bias.
func (b *biases) Bias(head, i, j int) float64 {
	if !b.used.Load() {
		b.used.Store(true)
	}
	return b.of.Bias(head, i, j)
}

// Check is that of the Bias, if it has one.
func (b *biases) Check(d nn.Dims) error {
	if c, ok := b.of.(nn.Checker); ok {
		return c.Check(d)
	}
	return nil
}

// CheckPositions is to be called after Forward. It is an error if the position gives a rotation or biases of scores and
// no layer has used them: the model would not know where its tokens stand. Biases are numbers, of which an Outline has
// none.
func (b *Body) CheckPositions() error {
	s := b.stack
	switch {
	case b.scope.Graph().Err() != nil:
		return nil
	case b.rotation != nil && !b.rotation.used:
		return errors.Errorf("position: got %s, and attention %s in block %s never calls Rotate of its Site's Rotary: "+
			"want an attention that does, such as causal, or position learned, sinusoidal or none", s.Position, s.Attention, s.Block)
	case b.biases != nil && !b.biases.used.Load() && !b.scope.Graph().Outlined():
		return errors.Errorf("position: got %s, and attention %s in block %s never uses its Site's Mask or Scores: "+
			"want an attention that does, such as causal, or position learned, sinusoidal or none", s.Position, s.Attention, s.Block)
	}
	return nil
}
