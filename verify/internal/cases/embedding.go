package cases

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

func embeddings[T hand.Number](n fixture.Sizes) []entry[T] {
	return []entry[T]{
		{
			verify.Entry{ID: "I04", What: "token embedding", Source: "Boué (2), (3)"},
			[]formula[T]{embedding[T](n)},
		},
		{
			verify.Entry{ID: "I27", What: "head tied to the embedding", Source: "Boué section 7, Diab section 2.4"},
			[]formula[T]{tied[T](n)},
		},
	}
}

// tokens returns ids. At the default sizes, some repeat within and across sequences, and some ids of the vocabulary
// never occur.
func tokens(n fixture.Sizes) []int {
	return repeated([]int{3, 1, 4, 1, 5, 9, 6, 5, 3, 5, 8, 9}, n.Batch*n.Tokens, n.Vocabulary)
}

// repeated returns count ids below limit: the ids of the list, again and again.
func repeated(list []int, count, limit int) (ids []int) {
	for i := range count {
		ids = append(ids, list[i%len(list)]%limit)
	}
	return ids
}

// declare feeds ids to a layer.
func declare(at nn.Site, name string, limit, ignore int, ids []int) graph.Expr {
	x := at.Ints(name, len(ids), limit, ignore)
	copy(x.Ints(), ids)
	return x
}

// embedding returns a Case that adds an embedding to x, as a model adds positions to tokens.
func embedding[T hand.Number](n fixture.Sizes) formula[T] {
	return formula[T]{verify.Case{
		Name: "embedding of ids that repeat", Types: []string{"Embedding"}, Source: "Boué (2), (3)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			e := nn.NewEmbedding(at.Scope, n.Vocabulary, at.Embd)
			return x.Add(e.Forward(declare(at, "ids", n.Vocabulary, -1, tokens(n))))
		},
	}, plusEmbedding[T](n)}
}

func plusEmbedding[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		return hand.LearnedPositions[T]{Weight: at.Param("weight"), Positions: tokens(n)}
	}
}

// tied returns a Case of a head that shares its weight with the embedding of its own input, so that both terms of the
// gradient occur.
func tied[T hand.Number](n fixture.Sizes) formula[T] {
	return formula[T]{verify.Case{
		Name: "tied head over its embedding", Types: []string{"Tied", "Embedding"},
		Source: "Boué section 7, Diab section 2.4, erratum D12",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			e := nn.NewEmbedding(at.Sub("wte"), n.Vocabulary, at.Embd)
			ids := declare(at, "ids", n.Vocabulary, -1, tokens(n))
			return nn.NewTied(at.Sub("lm_head"), e).Forward(x.Add(e.Forward(ids)))
		},
	}, tiedHead[T](n)}
}

func tiedHead[T hand.Number](n fixture.Sizes) layer[T] {
	return func(at hand.Site[T]) hand.Layer[T] {
		at = at.At("wte")
		return sequence[T]{{"wte", plusEmbedding[T](n)(at)}, {"lm_head", hand.Tied[T]{Embedding: at.Param("weight")}}}
	}
}
