package gpt

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// plan is a Config with every default filled in and with its names looked up. Models are built from it.
type plan struct {
	Config
	design parts.Design
	head   parts.Head
	rule   train.Optimizer

	factors parts.Factors // of the parametrization, for all blocks
	unfit   error         // of a parametrization or a multiplier that does not fit the network
}

// planned looks up the parts of c. It leaves LoraTargets, whose default depends on the network's layers.
func (c Config) planned() plan {
	known := c.known()
	p := plan{Config: c, design: known.Design(c.Stack)}
	p.Stack = p.design.Stack
	p.Parametrization = cmp.Or(c.Parametrization, "standard")
	p.factors, p.unfit = parts.NewFactors(p.Scaling, p.Stack)
	p.design.Tokens = p.factors.Tokens
	p.FutureTokens = cmp.Or(c.FutureTokens, 1)
	p.design.Future = min(p.FutureTokens, maxFuture) - 1
	p.Head = cmp.Or(c.Head, parts.Names(parts.Heads())[0])
	p.Training = c.Training.Resolved()
	p.Optimizer = cmp.Or(c.Optimizer, parts.Names(parts.Optimizers())[0])
	p.LoraScale = cmp.Or(c.LoraScale, "alpha/r")
	if c.LoraR > 0 {
		p.LoraAlpha = cmp.Or(c.LoraAlpha, float64(c.LoraR))
	}
	p.LoraTargets = slices.Clone(c.LoraTargets)
	p.head, p.rule = parts.Find(known.Heads, p.Head), parts.Find(known.Optimizers, p.Optimizer).New
	return p
}

// deep returns p with n blocks.
func (p plan) deep(n int) plan {
	p.NLayer, p.design.Stack.NLayer = n, n
	return p
}

// next returns p for the next token alone, without the blocks that predict those after it.
func (p plan) next() plan {
	p.FutureTokens, p.design.Future = 1, 0
	return p
}

// stack holds the layers, in the order of Table 2.
type stack struct {
	*parts.Body
	attentions []placed // inside the blocks
	head       nn.Layer
	own        []graph.Expr // the parameters of the head; a tied head has none
	vocabulary int
	logitCap   float64
	scope      graph.Scope
}

// placed is a layer of a block.
type placed struct {
	nn.Layer
	block int
}

func newStack(at nn.Site, p plan) *stack {
	net := &stack{scope: at.Scope, vocabulary: p.VocabSize, logitCap: p.LogitCap}
	net.Body = p.design.Body(at, p.VocabSize, func(root nn.Site) (*nn.Mask, func(nn.Site) nn.Layer) {
		return p.blockBuilder(root, func(at nn.Site, l nn.Layer) {
			net.attentions = append(net.attentions, placed{l, blockOf(at.Path())})
		})
	})
	before := len(at.Graph().Params())
	net.head = nn.Make(at.At("lm_head"), func(at nn.Site) nn.Layer {
		head, in, out := p.head.New(at, p.VocabSize, net.Embeddings.Table), p.factors.Head, p.factors.Logits
		if product(head) {
			in, out = in*out, 1 // the same logits for less work
		}
		return withFactors(at, head, in, out)
	})
	net.own = slices.Clone(at.Graph().Params()[before:])
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
		return p.branch(at, l)
	}
	return root.Mask, func(at nn.Site) nn.Layer { return p.design.Block.New(at, collected) }
}

// site returns the site that all layers of the model share. The mask is set later, when the positions are known.
func (p plan) site(s graph.Scope, batch int, positions graph.Expr) nn.Site {
	at := p.design.Site(batch, p.BlockSize)
	at.Scope, at.Positions, at.Blocks = s, positions, p.factors.Blocks
	at.Affine, at.Adapt = p.affine(func(*nn.LoRA) {}, func(string) {}), p.adapt(func(*nn.LoRA) {})
	mlp := at.MLP
	at.MLP = func(at nn.Site) nn.Layer { return p.branch(at, nn.Make(at, mlp)) }
	return at
}

// Cached reports whether every block can process the newest tokens alone.
func (n *stack) Cached() bool {
	layers := slices.Clone(n.Blocks)
	for _, a := range n.attentions {
		layers = append(layers, a.Layer)
	}
	return !slices.ContainsFunc(layers, func(l nn.Layer) bool { _, ok := l.(nn.Cached); return !ok })
}

// Predict returns a₁₂, the logits.
func (n *stack) Predict(x graph.Expr) graph.Expr { // (B·T, d) → (B·T, V)
	return n.predict(n.scope, x)
}

// predict is Predict whose results are places in s.
func (n *stack) predict(s graph.Scope, x graph.Expr) graph.Expr {
	z := nn.HeadIn(s, "lm_head", n.head, n.vocabulary)(n.NormedIn(s, x))
	if n.logitCap > 0 {
		z = nn.In(s, "logit_cap", nn.SoftCap{Cap: n.logitCap})(z)
	}
	return s.Place("logits", z)
}

// heads returns the logits of the next token, and of the tokens after it that the network also predicts.
func (n *stack) heads(tokens graph.Expr) (logits graph.Expr, future []graph.Expr) {
	for i, x := range n.Heads(tokens) {
		if i == 0 {
			logits = n.Predict(x)
			continue
		}
		future = append(future, n.predict(n.scope.Sub("h.%d", len(n.Blocks)+i-1), x))
	}
	return logits, future
}

// affine returns the builder of matrices with the factors of the parametrization: on the queries and on the initial
// values of the hidden matrices, whose names it passes to hidden.
func (p plan) affine(collect func(*nn.LoRA), hidden func(name string)) nn.Affine {
	affine, factor := p.Config.affine(collect), p.factors.Hidden
	build := func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		if !inBlock(s.Path()) {
			return affine(s, in, out, bias, init)
		}
		hidden(s.Path() + ".weight")
		if init == nil || factor == 1 {
			return affine(s, in, out, bias, init)
		}
		return affine(s, in, out, bias, func(i int, rng *rand.Rand) float64 { return factor * init(i, rng) })
	}
	if p.factors.Queries == 1 {
		return build
	}
	return nn.NewScaledQueries(build, p.factors.Queries)
}

// branch returns l with the factor on the branches of a block.
func (p plan) branch(at nn.Site, l nn.Layer) nn.Layer { return withFactors(at, l, 1, p.factors.Branch) }

// withFactors returns l with factors on its input and output, and l itself if both are 1 or there is no layer.
func withFactors(at nn.Site, l nn.Layer, in, out float64) nn.Layer {
	if l == nil || in == 1 && out == 1 {
		return l
	}
	return nn.NewScaled(at.Scope, l, in, out)
}

// product reports whether a head is a product with a matrix alone, without a bias.
func product(head nn.Layer) bool {
	switch l := head.(type) {
	case *nn.Tied:
		return true
	case *nn.Linear:
		return l.Bias.Graph() == nil
	case *nn.LoRA:
		return l.Base != nil && product(l.Base)
	}
	return false
}

// rate returns the factor on the learning rate of a parameter of m.
func (m *Model) rate(p graph.Expr) float64 {
	switch name := p.Name(); {
	case !inBlock(name) || isAdapter(p):
		return 1
	case m.hidden[name]:
		return m.plan.factors.HiddenRate
	}
	return m.plan.factors.BlockRate
}
