package seq2seq

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// block is an arrangement of a block, for both sides of the model.
type block struct {
	parts.Block // of the encoder
	decoder     func(at nn.Site, a nn.Attention, m *nn.Memory) (nn.Cached, *nn.CrossAttention)
}

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
	for _, a := range c.attentions() {
		r.Attentions = append(r.Attentions, a.Attention)
	}
	for _, b := range blocks() {
		r.Blocks = append(r.Blocks, b.Block)
	}
	return r
}

// design returns the encoder's stack with its names looked up.
func (c Config) design() parts.Design {
	c.Attention = cmp.Or(c.Attention, "full")
	return c.known().Design(c.Stack)
}

func (c Config) block() block { return parts.Find(blocks(), c.Block) }

// encoder is a stack of blocks without a causal mask: every token of a source sees all tokens, or those that the
// attention allows, but no padding.
type encoder struct {
	*parts.Body
	lengths []int // of the sources
	mask    *nn.Mask
}

// newEncoder returns the encoder of a batch of sources. c is resolved.
func newEncoder(s graph.Scope, c Config, batch int) encoder {
	design := c.design()
	at := design.Site(batch, c.SourceSize)
	at.Scope, at.Positions = s, parts.Places(s, batch, c.SourceSize)
	e := encoder{lengths: slices.Repeat([]int{c.SourceSize}, batch)}
	e.Body = design.Body(at, c.SourceVocab, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
		kind, block := c.attention(), c.block()
		e.mask = nn.NewBiasedMask(s, root.Dims, kind.mask(c.Stack, e.lengths), root.Scores)
		root.Mask = e.mask
		attention := kind.Make(root, c.Stack)
		return e.mask, func(at nn.Site) nn.Layer { return block.New(at, attention) }
	})
	return e
}

func (e encoder) forward(tokens graph.Expr) graph.Expr { return e.Normed(e.Forward(tokens)) } // (B·S) → (B·S, d)

// fill pads the sources, which must fit, copies them to ids, and hides the padding.
func (e encoder) fill(ids []int, sources [][]int) error {
	size := len(ids) / len(sources)
	for b, source := range sources {
		row := ids[b*size:][:size]
		clear(row[copy(row, source):]) // Pad is 0
		e.lengths[b] = len(source)
	}
	return e.mask.Update()
}

// decoder is a stack of blocks that attend to earlier tokens and then to the memory.
type decoder struct {
	*parts.Body
	cross []*nn.CrossAttention // of the blocks
	head  nn.Layer
}

// newDecoder returns the decoder of a batch of sequences with tokens at the given positions; with caches it can Step. c
// is resolved.
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
