package gpt

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// stack is the layers, in the order of Table 2.
type stack struct {
	wte        *nn.Embedding
	place      nn.Layer // what positions add to the embeddings; nil is nothing
	drop       *nn.Dropout
	blocks     []nn.Layer
	attentions []nn.Layer // inside the blocks
	norm       nn.Layer   // nil after post-norm blocks, whose result is normalised
	head       nn.Layer
}

func newStack(at nn.Site, c Config) *stack {
	known := c.known()
	net := &stack{wte: nn.NewEmbedding(at.Sub("wte"), c.VocabSize, c.NEmbd)}
	p := parts.Find(known.Positions, c.Position).New(at, c.Stack)
	net.place, at.Rotary, at.Scores = p.Layer, p.Rotary, p.Scores
	net.drop = nn.NewDropout(at.At("drop"))
	at.Mask = nn.NewBiasedMask(at.Scope, at.Dims, nn.Causal{}, at.Scores)
	attention := parts.Find(known.Attentions, c.Attention).New(at, c.Stack)
	collected := func(at nn.Site) nn.Layer {
		l := attention(at)
		net.attentions = append(net.attentions, l)
		return l
	}
	block := parts.Find(known.Blocks, c.Block)
	for i := range c.NLayer {
		at := at.At(fmt.Sprintf("h.%d", i))
		at.Block = i
		net.blocks = append(net.blocks, block.New(at, collected))
	}
	if block.Final {
		net.norm = at.Norm(at.At("ln_f"))
	}
	net.head = parts.Find(known.Heads, c.Head).New(at.At("lm_head"), c.VocabSize, net.wte)
	return net
}

// site is the style of the whole model; c is resolved. The mask comes when the positions are known.
func site(s graph.Scope, c Config, batch int, positions graph.Expr) nn.Site {
	at := c.Stack.Site(c.known(), batch, c.BlockSize)
	at.Scope, at.Positions, at.Affine = s, positions, c.affine()
	return at
}

// affine makes matrices, with adapters where c has them.
func (a Adapters) affine() nn.Affine {
	if a.LoraR == 0 {
		return nn.NewLinear
	}
	scale := a.LoraAlpha
	if a.LoraScale == "alpha/r" {
		scale /= float64(a.LoraR)
	}
	return nn.NewLoRA(a.adapts, a.LoraR, scale)
}

// cached says whether every block can take the newest tokens alone.
func (n *stack) cached() bool {
	for _, layers := range [][]nn.Layer{n.blocks, n.attentions} {
		for _, l := range layers {
			if _, ok := l.(nn.Cached); !ok {
				return false
			}
		}
	}
	return true
}

// forward is Table 2 from top to bottom; the numbers of its activations stand on the right.
func (n *stack) forward(tokens graph.Expr) graph.Expr { // (B·T) → (B·T, V)
	x := n.embed(tokens) // a₁       (B·T, d)
	for _, block := range n.blocks {
		x = block.Forward(x) // a₂ … a₁₀ (B·T, d)
	}
	return n.predict(x) // a₁₁, a₁₂ (B·T, V)
}

// step is forward for the newest tokens of every sequence, the first of them at position at. All blocks are cached.
func (n *stack) step(tokens, at graph.Expr) (hidden, logits graph.Expr) { // (B·n) → (B·n, d), (B·n, V)
	x := n.embed(tokens)
	for _, block := range n.blocks {
		x = block.(nn.Cached).Step(x, at)
	}
	return x, n.predict(x)
}

func (n *stack) embed(tokens graph.Expr) graph.Expr {
	x := n.wte.Forward(tokens)
	if n.place != nil {
		x = n.place.Forward(x)
	}
	return n.drop.Forward(x)
}

func (n *stack) predict(x graph.Expr) graph.Expr {
	if n.norm != nil {
		x = n.norm.Forward(x)
	}
	return n.head.Forward(x)
}
