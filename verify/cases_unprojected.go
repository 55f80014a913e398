package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// unprojectedCases take queries, keys and values as they come.
func unprojectedCases() []Case {
	return []Case{unprojectedCase(), unprojectedCrossCase([]int{fixtureTokens, fixtureTokens - 2})}
}

func unprojectedCase() Case {
	mask := CausalMask(fixtureTokens)
	return Case{
		ID: "I11", Name: "attention without projections", Types: []string{"Unprojected"}, Source: "Xu (4)–(6)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr { return nn.NewUnprojected(at).Forward(x) },
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return everyHead(p[input], func(b, _ int, x Matrix[complex128]) Matrix[complex128] { return UnprojectedForward(x, x, mask) })
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			return Parameters[float64]{input: everyHead(p[input], func(b, h int, x Matrix[float64]) Matrix[float64] {
				dx, dz := UnprojectedBackward(x, x, mask, headColumns(delta, fixtureTokens, b, h))
				return dx.Add(dz)
			})}
		},
	}
}

func unprojectedCrossCase(lengths []int) Case {
	const m = fixtureTokens + 1
	mask := func(b int) Matrix[float64] { return SourceMask(fixtureTokens, m, lengths[b]) }
	return Case{
		ID: "I11", Name: "cross-attention without projections", Types: []string{"UnprojectedCross"}, Source: "Conti 1.2.5, erratum C14",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			z := at.Param("z", graph.Normal(1), fixtureBatch*m, fixtureFeatures)
			return nn.NewUnprojectedCross(at, nn.NewMemory(at.Sub("memory"), z, fixtureBatch, fixtureTokens, m, lengths)).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return everyHead(p[input], func(b, h int, x Matrix[complex128]) Matrix[complex128] {
				return UnprojectedForward(x, headColumns(p["z"], m, b, h), mask(b))
			})
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			back := func(b, h int) (dx, dz Matrix[float64]) {
				return UnprojectedBackward(headColumns(p[input], fixtureTokens, b, h), headColumns(p["z"], m, b, h), mask(b), headColumns(delta, fixtureTokens, b, h))
			}
			return Parameters[float64]{
				input: everyHead(p[input], func(b, h int, _ Matrix[float64]) Matrix[float64] { dx, _ := back(b, h); return dx }),
				"z":   everyHead(p["z"], func(b, h int, _ Matrix[float64]) Matrix[float64] { _, dz := back(b, h); return dz }),
			}
		},
	}
}

// everyHead puts together what f makes of every sequence and head of x.
func everyHead[T Number](x Matrix[T], f func(b, h int, x Matrix[T]) Matrix[T]) Matrix[T] {
	var sequences []Matrix[T]
	for b := range fixtureBatch {
		var parts []Matrix[T]
		for h := range fixtureHeads {
			parts = append(parts, f(b, h, headColumns(x, x.Rows/fixtureBatch, b, h)))
		}
		sequences = append(sequences, JoinColumns(parts...))
	}
	return JoinTokens(sequences...)
}

// headColumns is the columns of head h of sequence b of n tokens.
func headColumns[T Number](x Matrix[T], n, b, h int) Matrix[T] {
	size := x.Cols / fixtureHeads
	return x.Tokens(b*n, (b+1)*n).Columns(h*size, (h+1)*size)
}
