package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// block is an arrangement of a block, for both sides of the model.
type block struct {
	parts.Block // of the encoder
	decoder     newDecoderBlock
}

type newDecoderBlock func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention)

// blocks returns the blocks of the library that the decoder also has, the default first.
func blocks() []block {
	pre := func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention) {
		b := nn.NewDecoderBlock(at, a, m)
		return b, b.Cross
	}
	post := func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention) {
		b := nn.NewPostNormDecoderBlock(at, a, m)
		return b, b.Cross
	}
	return []block{{parts.Find(parts.Blocks(), "pre"), pre}, {parts.Find(parts.Blocks(), "post"), post}}
}

// known returns the variants that c may name. Each side has positions for its own tokens. Variants that rotate queries
// and keys, or bias scores, do so only in self-attention, because source and target have no distance between them.
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

// design returns the encoder's stack with its names looked up; c has the defaults of the attention.
func (c Config) design() parts.Design { return c.known().Design(c.Stack) }

// attention returns the attention that c names; c is resolved.
func (c Config) attention() attention { return parts.Find(attentions(c.Parts.Attentions), c.Attention) }

func (c Config) block() block { return parts.Find(blocks(), c.Block) }
