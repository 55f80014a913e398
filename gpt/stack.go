package gpt

import (
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// stack holds the layers, in the order of Table 2.
type stack struct {
	*parts.Body
	attentions []nn.Layer // inside the blocks
	head       nn.Layer
	vocabulary int
	scope      graph.Scope
}

func newStack(at nn.Site, p plan) *stack {
	net := &stack{scope: at.Scope, vocabulary: p.VocabSize}
	net.Body = p.design.Body(at, p.VocabSize, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
		return p.blockBuilder(root, func(_ nn.Site, l nn.Layer) { net.attentions = append(net.attentions, l) })
	})
	net.head = nn.Make(at.At("lm_head"), func(at nn.Site) nn.Layer {
		return p.head.New(at, p.VocabSize, net.Embedding)
	})
	return net
}

// blockBuilder returns the mask and the function that builds each block, at a site whose fields from the positions are
// set. The function passes the block's attention to collect.
func (p plan) blockBuilder(root nn.Site, collect func(nn.Site, nn.Layer)) (*nn.Mask, func(nn.Site) nn.Layer) {
	root.Mask = nn.NewBiasedMask(root.Scope, root.Dims, nn.Causal{}, root.Scores)
	attention := p.design.Attention.Make(root, p.Stack)
	collected := func(at nn.Site) nn.Layer {
		l := nn.Make(at, attention) // a user-defined block may not build it
		collect(at, l)
		return l
	}
	return root.Mask, func(at nn.Site) nn.Layer { return p.design.Block.New(at, collected) }
}

// site returns the site that all layers of the model share. The mask is set later, when the positions are known.
func (p plan) site(s graph.Scope, batch int, positions graph.Expr) nn.Site {
	at := p.design.Site(batch, p.BlockSize)
	at.Scope, at.Positions, at.Affine, at.Adapt = s, positions, p.affine(func(*nn.LoRA) {}), p.adapt(func(*nn.LoRA) {})
	return at
}

// affine returns a builder of matrices that adds adapters as a describes, and calls collect with each.
func (a Adapters) affine(collect func(*nn.LoRA)) nn.Affine {
	if a.LoraR == 0 {
		return nn.NewLinear
	}
	adapted := nn.NewLoRA(a.adapts, a.LoraR, a.scale())
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		l := adapted(s, in, out, bias, init)
		if lora, ok := l.(*nn.LoRA); ok {
			collect(lora)
		}
		return l
	}
}

// adapt is like affine, for the matrices that user-defined layers declare in the blocks.
func (a Adapters) adapt(collect func(*nn.LoRA)) nn.Adapt {
	if a.LoraR == 0 {
		return nil
	}
	return func(s graph.Scope, w graph.Expr, in, out int) graph.Expr {
		if !inBlock(s.Path()) || !a.adapts(s.Path()) {
			return w
		}
		l := nn.NewAdapted(s, w, in, out, a.LoraR, a.scale())
		collect(l)
		return l.Matrix()
	}
}

func (a Adapters) scale() float64 {
	switch a.LoraScale {
	case "alpha/r":
		return a.LoraAlpha / float64(a.LoraR)
	case "alpha/sqrt(r)":
		return a.LoraAlpha / math.Sqrt(float64(a.LoraR))
	}
	return a.LoraAlpha
}

// Cached reports whether every block can process the newest tokens alone.
func (n *stack) Cached() bool {
	for _, l := range slices.Concat(n.attentions, n.Blocks) {
		if _, ok := l.(nn.Cached); !ok {
			return false
		}
	}
	return true
}

// Predict returns a₁₂, the logits.
func (n *stack) Predict(x graph.Expr) graph.Expr { // (B·T, d) → (B·T, V)
	return n.scope.Place("logits", nn.HeadIn(n.scope, "lm_head", n.head, n.vocabulary)(n.Normed(x)))
}
