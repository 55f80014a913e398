package nn

import "github.com/pedestrian-ml/pedestrian/graph"

// Embedder is a part between the ids of tokens and the residual stream:
//
//	ids → token embedding → parts → position → blocks
//
// It returns new embedded tokens in place of x, for ids of the same tokens. An Embedder that combines tokens also has
// the method
//
//	Step(ids, x, at graph.Expr) graph.Expr
//
// which takes only the newest tokens of every sequence, the first of them at position at.
type Embedder interface {
	Forward(ids, x graph.Expr) graph.Expr // (n), (n, d) → (n, d)
}

// cachedEmbedder is an Embedder that combines tokens.
type cachedEmbedder interface {
	Embedder
	Step(ids, x, at graph.Expr) graph.Expr
}

// Embedded returns an Embedder that applies a layer to the embedded tokens. In a Step the layer takes its own Step, or
// its Forward if it combines no tokens.
func Embedded(l Layer) Embedder { return embedded{l} }

type embedded struct{ Layer }

// Forward returns the result of the layer.
func (l embedded) Forward(_, x graph.Expr) graph.Expr { return l.Layer.Forward(x) }

// Step returns the Step of the layer.
func (l embedded) Step(_, x, at graph.Expr) graph.Expr { return step(l.Layer, x, at) }

// EmbedderIn returns the named Embedder in s as a function, as In does for a layer. If at is a position, the function
// takes the newest tokens.
func EmbedderIn(s graph.Scope, name string, e Embedder, at graph.Expr) func(ids, x graph.Expr) graph.Expr {
	inside := s.Sub("%s", name)
	return func(ids, x graph.Expr) graph.Expr {
		return s.Place(name, shaped(inside, x.Shape(), func() graph.Expr {
			if c, ok := e.(cachedEmbedder); ok && at.Graph() != nil {
				return c.Step(ids, x, at)
			}
			return e.Forward(ids, x)
		}))
	}
}
