package cases

import (
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func libraryAttention(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }

// sublayers returns the sublayers of a block, without dropout.
func sublayers[T hand.Number](
	n fixture.Sizes, at hand.Site[T], norm layer[T], mask func(b, h int) matrix,
) hand.Block[T] {
	return hand.Block[T]{
		Norm1:     norm(at.At("ln_1")),
		Attention: at.At("attn").SelfAttention(softmax(n, at, mask), n.Heads*n.QK, nil),
		Norm2:     norm(at.At("ln_2")),
		MLP:       at.At("mlp").MLP(hand.GELU[T]{}),
	}
}
