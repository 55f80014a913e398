package cases

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// sight describes the visible keys of each token, for the library and for the formulas.
type sight struct {
	see  func(s graph.Scope, d nn.Dims) *nn.Mask
	mask func(b, h int) matrix
	past bool // no token sees a later one, so the layer can be compared step by step
	both bool // a token sees later ones too
}

// built returns c with the layer, whose attention s names.
func (s sight) built(c verify.Case, layer func(at nn.Site) nn.Layer) verify.Case {
	c.Bidirectional = s.both
	if s.past {
		c.Layer = layer
	} else {
		c.Build = func(at nn.Site, x graph.Expr) graph.Expr { return layer(at).Forward(x) }
	}
	return c
}

// seeing returns a sight for v. In the formulas its masks are one for all sequences or one for each sequence.
func seeing(v nn.Visibility, masks ...matrix) sight {
	return sight{
		see:  func(s graph.Scope, d nn.Dims) *nn.Mask { return nn.NewMask(s, d, v) },
		mask: func(b, _ int) matrix { return masks[b%len(masks)] },
	}
}

func causal(n fixture.Sizes) sight {
	s := seeing(nn.Causal{}, hand.CausalMask(n.Tokens))
	s.past = true
	return s
}

func unmasked() sight { return bothWays(seeing(nn.All{}, matrix{})) }

// bothWays returns s with later tokens visible.
func bothWays(s sight) sight {
	s.both = true
	return s
}

// selfAttention describes a Case of self-attention.
type selfAttention struct {
	name, source string
	count        int // of heads, 0 for as many as the sizes say
	sight        sight
	dropout      float64
}

// self returns the Case.
func self[T hand.Number](n fixture.Sizes, a selfAttention) formula[T] {
	n.Heads = cmp.Or(a.count, n.Heads)
	c := verify.Case{Name: a.name, Types: []string{"SelfAttention"}, Source: a.source}
	c = a.sight.built(c, func(at nn.Site) nn.Layer {
		at.Heads, at.Dropout, at.Mask = n.Heads, a.dropout, a.sight.see(at.Sub("own"), at.Dims)
		return nn.NewSelfAttention(at.At("attn"))
	})
	return formula[T]{c, func(at hand.Site[T]) hand.Layer[T] {
		at = drawing(n, at, a.dropout, n.Tokens)
		return attending(n, at, softmax(n, at, a.sight.mask))
	}}
}

// softmax returns heads with a mask and the dropout of the site.
func softmax[T hand.Number](n fixture.Sizes, at hand.Site[T], mask func(b, h int) matrix) hand.Heads[T] {
	drop := at.At("attn").Drop("attn_dropout")
	return hand.Heads[T]{Batch: n.Batch, Count: n.Heads, Head: func(b, h int) hand.Head[T] {
		return hand.Attention[T]{Mask: mask(b, h), Drop: drop.Head(b, h, n.Heads, n.Tokens)}
	}}
}

// attending returns self-attention at attn with the given heads.
func attending[T hand.Number](n fixture.Sizes, at hand.Site[T], heads hand.Heads[T]) hand.Layer[T] {
	return sequence[T]{{"attn", at.At("attn").SelfAttention(heads, heads.Count*n.QK, nil)}}
}
