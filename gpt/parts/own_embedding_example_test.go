package parts_test

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// bigrams adds a row of a hashed table for each token and the one before it,
//
//	x_t ← x_t + g ∘ E[(a·t + b·t₋₁) mod M]
//
// with a learned gate g that starts at 0. Before the first token stands an id that no token has.
type bigrams struct {
	table      *nn.Embedding // E (M, d)
	gate       graph.Expr    // g (d)
	vocabulary int
	length     int
	cache      *fused.ConvCache
}

const rowsOfBigrams, ofToken, ofEarlier = 31, 7, 11 // M, a and b

func newBigrams(at nn.Site, vocabulary int) nn.Embedder {
	l := &bigrams{
		nn.NewEmbedding(at.Scope, rowsOfBigrams, at.Embd), at.Param("gate", graph.Const(0), at.Embd),
		vocabulary, at.Context, nil,
	}
	if at.Caches != nil { // a decoder, whose graphs share a cache of one column and one token before the newest ones
		if at.Caches[at.Path()] == nil {
			at.Caches[at.Path()] = fused.NewConvCache(at.Batch, 1, 2)
		}
		l.cache, _ = at.Caches[at.Path()].(*fused.ConvCache)
	}
	return l
}

func (l *bigrams) Forward(ids, x graph.Expr) graph.Expr {
	return l.add(ids, ids.DelayInts(1, l.length, l.vocabulary), x)
}

func (l *bigrams) Step(ids, x, at graph.Expr) graph.Expr {
	return l.add(ids, fused.CachedDelayInts(ids, at, l.vocabulary, l.cache), x)
}

func (l *bigrams) add(ids, earlier, x graph.Expr) graph.Expr {
	hash := ids.ScaleInts(ofToken).AddInts(earlier.ScaleInts(ofEarlier)).ModInts(rowsOfBigrams)
	return x.Add(l.table.Forward(hash).Mul(l.gate))
}

// A kind of embedding of one's own, with a flag, a key in checkpoints and a name in errors. It has the ids of tokens.
// It trains, resumes with the same bits, and decodes token by token.
func ExampleRegistry_ownEmbedding() {
	c := small()
	plain, _ := c.Count()
	c.Parts.Kinds = []parts.Kind{{Key: "ngram", Help: "embeddings of n-grams", Variants: func() []parts.Variant {
		return []parts.Variant{{Name: "none"}, {Name: "bigrams", Embed: func() parts.NewEmbed { return newBigrams }}}
	}}}
	c.With.Set("ngram", "bigrams")
	more, _ := c.Count()
	fmt.Println(more-plain, "parameters more")
	trains(c)
	fmt.Println("resumed with the same bits:", resumes(c))

	g := graph.New(graph.Float64, 1)
	m, err := gpt.New(g, c, 1)
	check(err)
	x, err := g.Activation("ngram") // by its name
	check(err)
	_, err = gpt.NewDecoder(m, 2) // which compares Step with Forward
	fmt.Println(x.Shape(), err)
	// Output:
	// 512 parameters more
	// the loss falls, and it writes
	// resumed with the same bits: true
	// [8 16] <nil>
}

// bigramsByHand is the same part by hand.
type bigramsByHand[T hand.Number] struct {
	weight, gate    hand.Matrix[T]
	length, unknown int
}

func (l bigramsByHand[T]) hash(ids []int) (rows []int) {
	for i, id := range ids {
		earlier := l.unknown
		if i%l.length > 0 {
			earlier = ids[i-1]
		}
		rows = append(rows, (ofToken*id+ofEarlier*earlier)%rowsOfBigrams)
	}
	return rows
}

func (l bigramsByHand[T]) Forward(ids []int, x hand.Matrix[T]) hand.Matrix[T] {
	return x.Add(hand.Embedding[T]{Weight: l.weight}.Forward(l.hash(ids)).Mul(l.gate))
}

// ∂E adds up Δ ∘ g over equal rows, and ∂g = Σ Δ ∘ E[row].
func (l bigramsByHand[T]) Backward(ids []int, _, delta hand.Matrix[T]) (dx hand.Matrix[T], g hand.Gradients[T]) {
	table, rows := hand.Embedding[T]{Weight: l.weight}, l.hash(ids)
	return delta, append(table.Backward(rows, delta.Mul(l.gate)),
		hand.Gradient[T]{Name: "gate", Value: delta.Mul(table.Forward(rows)).SumTokens()})
}

// The embedding by automatic differentiation, by hand, by the complex step, and without rounding.
func ExampleCase_embedding() {
	list := []int{3, 1, 4, 1, 3, 1, 2, 0}
	byHand := func(p hand.Parameters[float64]) bigramsByHand[float64] {
		return bigramsByHand[float64]{p["weight"], p["gate"], 4, 5}
	}
	c := verify.Case{
		Name: "bigrams", Dims: nn.Dims{Batch: 2, Context: 4, Embd: 3, Heads: 1},
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			ids := at.Ints("ids", len(list), 5, graph.NoneIgnored)
			copy(ids.Ints(), list)
			return newBigrams(at, 5).Forward(ids, x)
		},
		Forward: func(p hand.Parameters[complex128]) hand.Matrix[complex128] {
			return bigramsByHand[complex128]{p["weight"], p["gate"], 4, 5}.Forward(list, p["x"])
		},
		Backward: func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
			dx, g := byHand(p).Backward(list, p["x"], delta)
			return append(g, hand.Gradient[float64]{Name: "x", Value: dx})
		},
	}
	r, err := c.Run()
	check(err)
	exact, err := c.Exact(10, 1)
	fmt.Println(r.OK(), r.ByHand, exact.Differing, err)
	// Output: true true 0 <nil>
}
