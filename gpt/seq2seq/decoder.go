package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// decoder is a stack of blocks that attend to earlier tokens and then to the memory.
type decoder struct {
	*parts.Body
	cross []*nn.CrossAttention // of the blocks
	head  nn.Layer
}

// newDecoder returns the decoder of a batch of sequences with tokens at the given positions; with caches it can Step.
func newDecoder(s graph.Scope, c Config, batch int, m *nn.Memory, positions graph.Expr, caches nn.Caches) (d decoder) {
	design := c.design()
	at := design.Site(batch, c.TargetSize)
	at.Scope, at.Positions, at.Caches = s, positions, caches
	d.Body = design.Body(at, c.TargetVocab, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
		root.Mask = nn.NewBiasedMask(s, root.Dims, nn.Causal{}, root.Scores)
		block, attention := c.block(), parts.Find(parts.Attentions(), "causal").New(root, c.Stack)
		return root.Mask, func(at nn.Site) nn.Layer {
			b, cross := block.decoder(at, attention, m)
			d.cross = append(d.cross, cross)
			return b
		}
	})
	d.head = at.Affine(at.Sub("lm_head"), c.NEmbd, []int{c.TargetVocab}, c.Bias, graph.Normal(0.02))
	return d
}

func (d decoder) predict(x graph.Expr) graph.Expr { return d.head.Forward(d.Normed(x)) } // (n, d) → (n, V)
