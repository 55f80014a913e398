package decode

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Network describes a causal network to decode with.
type Network struct {
	Graph      *graph.Graph // holds the weights
	Context    int          // largest number of tokens that the network reads at once
	Vocabulary int          // number of logits V
	Drawn      int          // number of tokens that are drawn, 0 … Drawn−1; 0: all V

	// Build declares the layers at s, in a sibling of Graph, for batch texts of tokens at the given positions. The
	// layers share the caches, which are nil if they need no Step.
	Build func(s graph.Scope, batch int, positions graph.Expr, caches nn.Caches) Layers

	// CheckMemory returns an error if memory does not suffice for the keys and values of the given number of tokens of
	// each text. A Session calls it before it stores more than FewTokens, a Service of package gpt/service before it
	// builds its lanes. It may be nil.
	CheckMemory func(batch, tokens int) error

	// CheckSteps returns an error if Step and Forward differ. It may be nil.
	CheckSteps func() error
}

// Layers are the layers of a network, in a graph.
type Layers interface {
	// Forward returns the last hidden values (B·T, d) of texts of T tokens.
	Forward(tokens graph.Expr) graph.Expr
	// Cached reports whether all layers can Step.
	Cached() bool
	// Step returns the last hidden values of n new tokens of every text, from position at on. It reads the keys and
	// values of earlier tokens in the caches, and appends the new tokens'.
	Step(tokens, at graph.Expr) graph.Expr
	// Predict returns the logits (n, V) of n hidden values.
	Predict(hidden graph.Expr) graph.Expr
}

// Check returns an error before anything is allocated if n cannot continue batch texts.
func (n Network) Check(batch int) error {
	switch {
	case n.Graph == nil:
		return errors.New("network: graph: got nil, want a model's")
	case n.Build == nil:
		return errors.New("network: nothing builds the layers (nil)")
	case batch < 1 || n.Context < 1 || n.Vocabulary < 1:
		return errors.Errorf("network: got a batch of %d, a context of %d and a vocabulary of %d, "+
			"want 1 or more of each", batch, n.Context, n.Vocabulary)
	}
	if n.Drawn < 0 || n.Drawn > n.Vocabulary {
		return errors.Errorf("network: drawn: got %d tokens, want 0 for all, to the vocabulary of %d",
			n.Drawn, n.Vocabulary)
	}
	if size := max(n.Context, n.Vocabulary); float64(batch)*float64(size) > field.MaxSize {
		return errors.Errorf("network: got a batch of %d × %d tokens or logits, want at most %d",
			batch, size, field.MaxSize)
	}
	return nil
}

// layers builds the layers at the root of g.
func (n Network) layers(g *graph.Graph, batch int, positions graph.Expr, caches nn.Caches) (Layers, error) {
	var l Layers
	s := g.Root()
	s.Try(func() { l = n.Build(s, batch, positions, caches) })
	if err := g.Err(); err != nil {
		return nil, err
	}
	if l == nil {
		return nil, errors.New("network: Build returned no layers (nil)")
	}
	return l, nil
}

// Choices returns the number of tokens that may be drawn.
func (n Network) Choices() int { return cmp.Or(n.Drawn, n.Vocabulary) }

// CheckTokens returns an error if a token is outside the vocabulary.
func (n Network) CheckTokens(tokens []int) error { return checkTokens(tokens, n.Vocabulary) }
