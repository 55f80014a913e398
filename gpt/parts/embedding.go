package parts

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// NewEmbed builds a part between the ids of a model's tokens, which are below the size of the vocabulary, and the
// residual stream.
type NewEmbed func(at nn.Site, vocabulary int) nn.Embedder

// Embeddings holds the parts of a model between its ids and its first block, in their order: the token embedding
// (wte), the embeddings of Kinds, by their keys, the positions (position), and dropout (drop).
type Embeddings struct {
	Table     *nn.Embedding // of the tokens
	Placement nn.Placement  // what the positions add to the blocks

	parts []namedEmbedder
	scope graph.Scope
}

type namedEmbedder struct {
	name string
	nn.Embedder
}

// Embeddings builds them at a site of Design.Site.
func (d Design) Embeddings(at nn.Site, vocabulary int) *Embeddings {
	s := d.Stack
	e := &Embeddings{Table: nn.NewEmbedding(at.Sub("wte"), vocabulary, s.NEmbd), scope: at.Scope}
	table := nn.Layer(e.Table)
	if d.Tokens != 0 && d.Tokens != 1 {
		table = nn.NewScaled(at.Sub("wte"), table, 1, d.Tokens)
	}
	e.add("wte", lookup{table})
	for _, k := range slices.Backward(d.kinds) {
		if v := k.variant(s); v.Embed != nil {
			e.add(k.Key, v.embedder(at.At(k.Key), vocabulary))
		}
	}
	at.Sub("position %q", s.Position).Try(func() { e.Placement = d.position.New(at, s) })
	if l := e.Placement.Layer; l != nil {
		e.add("position", nn.Embedded(l))
	}
	e.add("drop", nn.Embedded(nn.NewDropout(at.At("drop"))))
	return e
}

// embedder builds the part of a variant.
func (v Variant) embedder(at nn.Site, vocabulary int) (e nn.Embedder) {
	at.Try(func() {
		build := v.Embed()
		if build == nil {
			at.Failf("the function that builds the embedding is nil")
			return
		}
		if e = build(at, vocabulary); e == nil {
			at.Failf("the function that builds the embedding returns nil")
		}
	})
	return e
}

// add appends a part, if there is one.
func (e *Embeddings) add(name string, part nn.Embedder) {
	if part != nil {
		e.parts = append(e.parts, namedEmbedder{name, part})
	}
}

// Forward returns a₁.
func (e *Embeddings) Forward(ids graph.Expr) graph.Expr { return e.through(ids, graph.Expr{}) } // (n) → (n, d)

// Step is Forward for the newest tokens of every sequence, the first of them at position at.
func (e *Embeddings) Step(ids, at graph.Expr) graph.Expr { return e.through(ids, at) } // (B·n) → (B·n, d)

func (e *Embeddings) through(ids, at graph.Expr) (x graph.Expr) {
	if e == nil {
		return ids.Wrap(nil, errors.New("embeddings: got nil, want those that Design.Embeddings builds"))
	}
	for _, part := range e.parts {
		x = nn.EmbedderIn(e.scope, part.name, part.Embedder, at)(ids, x)
	}
	return x
}

// lookup is the Embedder of a layer that has the ids.
type lookup struct{ nn.Layer }

// Forward returns the rows of the ids.
func (l lookup) Forward(ids, _ graph.Expr) graph.Expr { return l.Layer.Forward(ids) }
