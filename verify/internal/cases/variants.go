package cases

import (
	"cmp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// ofVariants returns an entry for each variant, with a Case for each of its settings.
func ofVariants[T hand.Number](n fixture.Sizes) (list []entry[T]) {
	for _, v := range variants.List[T]() {
		e := entry[T]{Entry: verify.Entry{ID: v.ID, What: v.What, Source: v.Source}}
		for _, s := range v.Settings {
			e.formulas = append(e.formulas, derive(n, v, s))
		}
		if v.ID != "" {
			list = append(list, e)
		}
	}
	return list
}

// certify adds to the Parts of a Case the variants without settings that share its entry and a type with it, and
// those that name its entry in By.
func certify(c *verify.Case, id string, derived bool) {
	for _, v := range variants.List[float64]() {
		shared := !derived && v.ID == id && slices.Contains(c.Types, v.Type)
		if name := part(v); (shared || slices.Contains(v.By, id)) && !slices.Contains(c.Parts, name) {
			c.Parts = append(c.Parts, name)
		}
	}
}

func part[T hand.Number](v variants.Variant[T]) string { return v.Kind + "=" + v.Name }

const visibleEps = 1e-3 // the ε of norms, large enough to matter

// derive returns the Case of a variant in a setting.
func derive[T hand.Number](n fixture.Sizes, v variants.Variant[T], s variants.Setting) formula[T] {
	n.Heads, n.QK = cmp.Or(s.Heads, n.Heads), cmp.Or(s.QK, n.QK)
	sight := seen(n, s.Sight)
	c := sight.built(verify.Case{
		Name: s.Name, Types: []string{v.Type}, Parts: []string{part(v)}, Source: cmp.Or(s.Source, v.Source),
	}, func(at nn.Site) nn.Layer { return library(n, v.Kind, v.Name, at, s) })
	c.Dims.Embd = s.Embd
	if c.Carry = s.Carry; s.Carry { // a step begins a text
		c.Build, c.Layer = func(at nn.Site, x graph.Expr) graph.Expr {
			return library(n, v.Kind, v.Name, at, s).Forward(x)
		}, nil
	}
	certify(&c, v.ID, true)
	path := map[string]string{
		"attention": "attn", "block": "h.0", "short_conv": "h.0",
	}[v.Kind]
	switch {
	case v.Stream != nil:
		path = "h.0"
	case path == "" && isKind(v.Kind):
		path = "attn"
	}
	return formula[T]{c, func(at hand.Site[T]) hand.Layer[T] {
		if v.Kind == "norm" {
			at.Eps = visibleEps
		}
		plan := planOf(n, v.Kind, v.Name, s)
		at = drawing(n, at, s.Dropout, n.Tokens)
		switch {
		case v.Embed != nil:
			return variants.Embedded[T]{Embedder: v.Embed(variants.Alone(at, plan))}
		case path == "":
			return v.Hand(variants.Alone(at, plan))
		}
		p := variants.Alone(at.At(path), plan)
		if v.Stream == nil {
			return sequence[T]{{path, v.Hand(p)}}
		}
		stream := v.Stream(p)
		return slices.Concat(
			stream.Expand, hand.Chain[T]{hand.Apply[T]{Name: path, From: "x", To: "x", Layer: v.Hand(p)}},
			stream.Reduce, hand.Chain[T]{hand.Keep[T]("x", "y")},
		)
	}}
}

// planOf returns the model whose layer a Case is.
func planOf(n fixture.Sizes, kind, name string, s variants.Setting) variants.Plan {
	p := variants.Plan{
		Batch: n.Batch, Context: n.Tokens, Layers: 1, Heads: n.Heads, QK: n.QK, Position: s.Position,
		Attention: cmp.Or(s.Attention, "causal"), Norm: "layernorm", Block: cmp.Or(s.Block, "pre"),
		Activation: cmp.Or(s.Activation, "gelu"), Theta: theta,
		Experts: s.Experts, Cap: s.Cap, Option: func(name string) int { return s.Options[name] },
	}
	switch kind {
	case "attention":
		p.Attention = name
	case "short_conv":
		p.MLP = s.MLP
	}
	if isKind(kind) {
		p.With = map[string]string{kind: name}
	}
	if s.Sight != variants.Causal {
		sight := seen(n, s.Sight)
		p.Mask = func(_, sequence, head int) matrix { return sight.mask(sequence, head) }
	}
	return p
}

func seen(n fixture.Sizes, s variants.Sight) sight {
	return [...]sight{
		variants.Causal: causal(n), variants.All: unmasked(), variants.Padded: padding(n),
		variants.CausalPadded: causalPadding(n),
	}[s]
}

// library returns the library's layer of a variant in a setting.
func library(n fixture.Sizes, kind, name string, at nn.Site, s variants.Setting) nn.Layer {
	at.Bias, at.Dropout = !s.NoBias, s.Dropout
	switch kind {
	case "norm":
		at.Eps = visibleEps
		return parts.Find(parts.Norms(), name).New(at)
	case "activation":
		return parts.Find(parts.Activations(), name).Layer
	case "mlp":
		if s.Activation != "" {
			at.Act = parts.Find(parts.Activations(), s.Activation).Layer
		}
		at.Experts = nn.Experts{
			Routing: nn.Routing{Router: fused.Router{
				Experts: s.Experts.Count, Active: s.Experts.Active, Sigmoid: s.Experts.Sigmoid, Norm: s.Experts.Norm,
			}},
			Shared: s.Experts.Shared, Limit: s.Experts.Limit,
		}
		if s.Experts.Biased {
			at.Experts.BiasRate = 0.1
		}
		return parts.Find(parts.MLPs(), name).New(at)
	case "block":
		return parts.Find(parts.Blocks(), name).New(at.At("h.0"), libraryAttention)
	case "short_conv":
		at.Conv = parts.Find(parts.ShortConvs(), name).Convs()
		if s.MLP != "" {
			at.MLP = parts.Find(parts.MLPs(), s.MLP).New
		}
		return parts.Find(parts.Blocks(), "pre").New(at.At("h.0"), libraryAttention)
	case "attention":
		return attention(n, name, at, s)
	case "attn_sinks":
		at.Sinks = parts.Find(parts.AttnSinks(), name).New
		return attention(n, s.Attention, at, s)
	}
	if build := newEmbed(kind, name); build != nil {
		return embedded{kind, build(at.At(kind), n.Vocabulary), at.Scope}
	}
	if isKind(kind) { // a link or a stream
		stack := parts.Stack{With: parts.Choose(kind, name)}
		if at.Stream = stack.Stream(parts.Kinds()); at.Stream.Stream != nil {
			block := parts.Find(parts.Blocks(), s.Block).New(at.At("h.0"), libraryAttention)
			return streamed{at.Stream, block.(nn.Cached)}
		}
		at.Links = stack.Links(parts.Kinds())
		return attention(n, s.Attention, at, s)
	}
	at.Failf("verify: a %s has no Case with settings", kind)
	return nil
}

// streamed is a block between the beginning and the end of a residual stream.
type streamed struct {
	nn.Stream
	block nn.Cached
}

func (l streamed) Forward(x graph.Expr) graph.Expr { return l.Reduce(l.block.Forward(l.Expand(x))) }

func (l streamed) Step(x, at graph.Expr) graph.Expr { return l.Reduce(l.block.Step(l.Expand(x), at)) }

// isKind reports whether a configuration has an optional part of that kind.
func isKind(key string) bool {
	return slices.ContainsFunc(parts.Kinds(), func(k parts.Kind) bool { return k.Key == key })
}

// newEmbed returns what builds the embedding of a kind, or nil if it is none.
func newEmbed(key, name string) parts.NewEmbed {
	for _, k := range parts.Kinds() {
		if v := parts.Find(k.Variants(), name); k.Key == key && v.Embed != nil {
			return v.Embed()
		}
	}
	return nil
}

// embedded is an embedding without ids as a layer.
type embedded struct {
	name string
	nn.Embedder
	scope graph.Scope
}

// Forward returns new embedded tokens in place of x.
func (l embedded) Forward(x graph.Expr) graph.Expr { return l.Step(x, graph.Expr{}) }

// Step is Forward for the newest tokens of every sequence.
func (l embedded) Step(x, at graph.Expr) graph.Expr {
	return nn.EmbedderIn(l.scope, l.name, l.Embedder, at)(graph.Expr{}, x)
}

// attention returns the library's attention at attn.
func attention(n fixture.Sizes, name string, at nn.Site, s variants.Setting) nn.Layer {
	at.Heads, at.QK, at.Cap = n.Heads, n.QK, s.Cap
	switch s.Position {
	case "rope":
		at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, theta)
	case "alibi":
		at.Scores = nn.NewALiBi(at.Heads)
	}
	at.Mask = seen(n, s.Sight).see(at.Sub("own"), at.Dims)
	if at.Scores != nil {
		at.Mask = linearBiases(nn.Causal{}, at.Heads)(at.Sub("own"), at.Dims)
	}
	stack := parts.Stack{NLayer: 1, NHead: at.Heads, NEmbd: at.Embd, Rope: parts.Rope{Theta: theta}, Attention: name}
	for option, n := range s.Options {
		stack.Options.Set(option, n)
	}
	return parts.Find(parts.Attentions(), name).New(at, stack)(at.At("attn"))
}
