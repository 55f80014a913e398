package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// block is an arrangement of a block, on both sides of the model.
type block struct {
	parts.Block // of the encoder
	decoder     func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention)
}

// blocks returns those of the library that the decoder has too, the default first.
func blocks() []block {
	return []block{
		{parts.Find(parts.Blocks(), "pre"), func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention) {
			b := nn.NewDecoderBlock(at, a, m)
			return b, b.Cross
		}},
		{parts.Find(parts.Blocks(), "post"), func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention) {
			b := nn.NewPostNormDecoderBlock(at, a, m)
			return b, b.Cross
		}},
	}
}

// known returns the variants that c may name: positions tell either side where its tokens stand, and what rotates
// queries and keys, or biases scores, does so in self-attention, for between source and target there is no distance.
func (c Config) known() parts.Registry {
	r := c.Parts.WithLibrary()
	r.Attentions, r.Blocks = nil, nil
	for _, a := range attentions(c.Parts.Attentions) {
		r.Attentions = append(r.Attentions, a.Attention)
	}
	for _, b := range blocks() {
		r.Blocks = append(r.Blocks, b.Block)
	}
	return r
}

// attention and block are the ones that c names; c is resolved.
func (c Config) attention() attention { return parts.Find(attentions(c.Parts.Attentions), c.Attention) }

func (c Config) block() block { return parts.Find(blocks(), c.Block) }
