package seq2seq

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// decoder is a stack of blocks that look back, then at the memory.
type decoder struct {
	embedding
	blocks []nn.Cached
	cross  []*nn.CrossAttention // of the blocks
	norm   nn.Layer
	head   nn.Layer
}

// newDecoder makes the decoder of a batch of sequences, whose tokens stand at the positions; with caches it can Step.
func newDecoder(s graph.Scope, c Config, batch int, m *nn.Memory, positions graph.Expr, caches nn.Caches) decoder {
	at := c.Site(c.known(), batch, c.TargetSize)
	at.Scope = s
	at.Positions, at.Caches = positions, caches
	d := decoder{embedding: newEmbedding(&at, c, c.TargetVocab)}
	at.Mask = nn.NewBiasedMask(s, at.Dims, nn.Causal{}, at.Scores)
	block, attention := c.block(), parts.Find(parts.Attentions(), "causal").New(at, c.Stack)
	for i := range c.NLayer {
		at := at.At(fmt.Sprintf("h.%d", i))
		at.Block = i
		b, cross := block.decoder(at, attention, m)
		d.blocks, d.cross = append(d.blocks, b), append(d.cross, cross)
	}
	if block.Final {
		d.norm = at.Norm(at.At("ln_f"))
	}
	d.head = at.Affine(at.Sub("lm_head"), c.NEmbd, []int{c.TargetVocab}, c.Bias, graph.Normal(0.02))
	return d
}

func (d decoder) forward(tokens graph.Expr) graph.Expr { // (B·T) → (B·T, V)
	x := d.embedding.forward(tokens)
	for _, b := range d.blocks {
		x = b.Forward(x)
	}
	return d.predict(x)
}

// step is forward for the newest token of every sequence, all of them at one position.
func (d decoder) step(tokens, at graph.Expr) graph.Expr { // (B) → (B, V)
	x := d.embedding.forward(tokens)
	for _, b := range d.blocks {
		x = b.Step(x, at)
	}
	return d.predict(x)
}

func (d decoder) predict(x graph.Expr) graph.Expr {
	if d.norm != nil {
		x = d.norm.Forward(x)
	}
	return d.head.Forward(x)
}
