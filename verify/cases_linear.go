package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// caseTokens are ids of which some repeat within and across sequences and some never occur.
func caseTokens() []int { return []int{3, 1, 4, 1, 5, 9, 6, 5, 3, 5, 8, 9} }

func caseIDs(at nn.Site, name string, limit, ignore int, ids []int) graph.Expr {
	x := at.Ints(name, len(ids), limit, ignore)
	copy(x.Ints(), ids)
	return x
}

func linearCases() []Case {
	linear := func(bias bool) func(nn.Site, graph.Expr) graph.Expr {
		return func(at nn.Site, x graph.Expr) graph.Expr {
			return nn.NewLinear(at.Scope, at.Embd, []int{at.Inner}, bias, graph.Const(0)).Forward(x)
		}
	}
	forward := func(p Parameters[complex128]) Matrix[complex128] {
		return LinearForward(p[input], p["weight"], p["bias"])
	}
	backward := func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
		dx, dw, db := LinearBackward(p[input], p["weight"], delta)
		return Parameters[float64]{input: dx, "weight": dw, "bias": db}
	}
	return []Case{
		{
			ID: "I10", Name: "linear", Types: []string{"Linear"}, Source: "Boué (4), (23), (24)",
			Build: linear(true), Forward: forward, Backward: backward,
		},
		{
			ID: "I10", Name: "linear without a bias", Types: []string{"Linear"}, Source: "Boué (4), (23)",
			Build: linear(false), Forward: forward,
			Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
				g := backward(p, delta)
				delete(g, "bias")
				return g
			},
		},
		embeddingCase(),
		tiedCase(),
	}
}

// The embedding is added to x, as positions are to tokens.
func embeddingCase() Case {
	return Case{
		ID: "I04", Name: "embedding of ids that repeat", Types: []string{"Embedding"}, Source: "Boué (2), (3)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			e := nn.NewEmbedding(at.Scope, fixtureVocabulary, at.Embd)
			return x.Add(e.Forward(caseIDs(at, "ids", fixtureVocabulary, -1, caseTokens())))
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return p[input].Add(EmbeddingForward(p["weight"], caseTokens()))
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: delta, "weight": EmbeddingBackward(p["weight"], caseTokens(), delta)}
		},
	}
}

// The head shares its weight with the embedding of its own input: both terms of the gradient are there.
func tiedCase() Case {
	return Case{
		ID: "I27", Name: "tied head over its embedding", Types: []string{"Tied", "Embedding"}, Source: "Boué section 7, Diab section 2.4, erratum D12",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			e := nn.NewEmbedding(at.Sub("wte"), fixtureVocabulary, at.Embd)
			tokens := caseIDs(at, "ids", fixtureVocabulary, -1, caseTokens())
			return nn.NewTied(at.Sub("lm_head"), e).Forward(x.Add(e.Forward(tokens)))
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			w := p["wte.weight"]
			return LinearForward(p[input].Add(EmbeddingForward(w, caseTokens())), w.Transpose(), Matrix[complex128]{})
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			w := p["wte.weight"]
			dx, dw, _ := LinearBackward(p[input].Add(EmbeddingForward(w, caseTokens())), w.Transpose(), delta)
			return Parameters[float64]{input: dx, "wte.weight": dw.Transpose().Add(EmbeddingBackward(w, caseTokens(), dx))}
		},
	}
}
