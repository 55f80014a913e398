package verify

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// maskCases are attention in sparse graphs, in other graphs for other heads, with biases, and without projections.
func maskCases() []Case {
	const n = fixtureTokens
	global, dilation, lengths := []int{2}, []int{1, 2}, []int{n, n - 2}
	dilated := nn.Dilated{Width: 2, Dilation: dilation, Global: global}
	causal := CausalMask(n)
	windows, biases := make([]Matrix[float64], fixtureHeads), make([]Matrix[float64], fixtureHeads)
	for h := range fixtureHeads {
		windows[h] = Either(DilatedMask(n, 2, dilation[h]), GlobalMask(n, global))
		biases[h] = ALiBiMask(n, h+1, fixtureHeads).Add(causal)
	}
	var padded []Matrix[float64]
	for _, length := range lengths {
		for _, w := range windows {
			padded = append(padded, w.Add(sourceMask(n, n, length)))
		}
	}
	bird := nn.BigBird{Width: 1, Global: []int{3}, Random: 1, Seed: 5}
	birds := BigBirdMask(n, bird.Width, bird.Global, drawnKeys(nn.All{nn.Causal{}, bird})).Add(causal)
	return []Case{
		attentionCase("I12", "dilated attention per head with padding", unbiased(nn.All{nn.Padding{Lengths: lengths}, dilated}), 0, padded...),
		attentionCase("I13", "causal attention in BigBird's graph", unbiased(nn.All{nn.Causal{}, bird}), 0, birds, birds),
		attentionCase("I13", "causal attention in Longformer's graph", unbiased(nn.All{nn.Causal{}, dilated}), 0, eachSequence(windows, causal)...),
		attentionCase("I07", "causal attention with linear biases", func(s graph.Scope, d nn.Dims) *nn.Mask {
			return nn.NewBiasedMask(s, d, nn.Causal{}, nn.NewALiBi(fixtureHeads))
		}, 0, slices.Concat(biases, biases)...),
		longformerCase("longformer with global projections", nn.All{}, dilated, Zeros[float64](n, n)),
		longformerCase("causal longformer with global projections", nn.Causal{}, dilated, causal),
		unprojectedCase(),
		unprojectedCrossCase(lengths),
	}
}

// eachSequence is the masks of the heads under another one, for every sequence.
func eachSequence(heads []Matrix[float64], under Matrix[float64]) (out []Matrix[float64]) {
	for range fixtureBatch {
		for _, m := range heads {
			out = append(out, m.Add(under))
		}
	}
	return out
}

// sourceMask hides the keys from length on, (n, m).
func sourceMask(n, m, length int) Matrix[float64] {
	hidden := make([]bool, m)
	for j := length; j < m; j++ {
		hidden[j] = true
	}
	row := PaddingMask(hidden).Tokens(0, 1)
	return Zeros[float64](n, m).Add(row)
}

// drawnKeys asks the library which keys chance has drawn: those that a query sees and would not see without chance.
func drawnKeys(see nn.All) [][]int {
	const n = fixtureTokens
	plain := slices.Clone(see)
	for i, v := range plain {
		if bird, ok := v.(nn.BigBird); ok {
			bird.Random = 0
			plain[i] = bird
		}
	}
	read := func(v nn.Visibility) []float64 {
		return nn.NewMask(spelled.graph(caseSeed, caseStep).Root(), generic(), v).Expr.Tensor().Floats()
	}
	with, without := read(see), read(plain)
	keys := make([][]int, n)
	for i := range with {
		if with[i] != without[i] {
			keys[i/n] = append(keys[i/n], i%n)
		}
	}
	return keys
}

func longformerCase(name string, see nn.Visibility, dilated nn.Dilated, under Matrix[float64]) Case {
	const n = fixtureTokens
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK}
	var masks []LongformerMask
	for range fixtureBatch {
		for h := range fixtureHeads {
			global := GlobalMask(n, dilated.Global)
			local := Except(DilatedMask(n, dilated.Width, dilated.Dilation[h]), global)
			masks = append(masks, LongformerMask{Local: local.Add(under), Global: global.Add(under)})
		}
	}
	return Case{
		ID: "I13", Name: name, Types: []string{"Longformer"}, Source: "Beltagy et al. 2020, 3.1; Conti 2.1.1",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			mask := nn.NewMask(at.Sub("own"), at.Dims, see)
			return nn.NewLongformer(at.At("attn"), nn.NewLongformerMask(at.Sub("own"), mask, dilated)).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			near := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			global := LinearForward(p[input], p["attn.c_attn_global.weight"], p["attn.c_attn_global.bias"])
			out := LongformerHeadsForward(near, global, heads, masks)
			return LinearForward(out, p["attn.c_proj.weight"], p["attn.c_proj.bias"])
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			near := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			global := LinearForward(p[input], p["attn.c_attn_global.weight"], p["attn.c_attn_global.bias"])
			out := LongformerHeadsForward(near, global, heads, masks)
			d, dw, db := LinearBackward(out, p["attn.c_proj.weight"], delta)
			g["attn.c_proj.weight"], g["attn.c_proj.bias"] = dw, db
			dnear, dglobal := LongformerHeadsBackward(near, global, heads, masks, d)
			dx, dw, db := LinearBackward(p[input], p["attn.c_attn.weight"], dnear)
			g["attn.c_attn.weight"], g["attn.c_attn.bias"] = dw, db
			more, dw, db := LinearBackward(p[input], p["attn.c_attn_global.weight"], dglobal)
			g["attn.c_attn_global.weight"], g["attn.c_attn_global.bias"] = dw, db
			g[input] = dx.Add(more)
			return g
		},
	}
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
	mask := func(b int) Matrix[float64] { return sourceMask(fixtureTokens, m, lengths[b]) }
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
