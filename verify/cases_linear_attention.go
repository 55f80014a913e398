package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func linearAttentionCases() []Case {
	padding := make([]bool, fixtureTokens) // of the second sequence
	padding[fixtureTokens-1], padding[fixtureTokens-2] = true, true
	lengths := nn.Padding{Lengths: []int{fixtureTokens, fixtureTokens - 2}}
	causal, none, padded := CausalMask(fixtureTokens), Zeros[float64](fixtureTokens, fixtureTokens), PaddingMask(padding)
	elu, taylor := eluPlusOneKind(), taylorKind()
	return []Case{
		elu.on("linear attention", nn.Causal{}, 0, causal, causal),
		elu.on("linear attention without a mask", nn.All{}, 0, none, none),
		elu.on("linear attention with padding", lengths, 0, none, padded),
		elu.on("causal linear attention with padding", nn.All{nn.Causal{}, lengths}, 0, causal, causal.Add(padded)),
		elu.on("linear attention with dropout", nn.Causal{}, caseProbability, causal, causal),
		taylor.on("taylor attention", nn.Causal{}, 0, causal, causal),
		taylor.on("taylor attention without a mask", nn.All{}, 0, none, none),
		taylor.on("taylor attention with padding", lengths, 0, none, padded),
		taylor.on("causal taylor attention with padding", nn.All{nn.Causal{}, lengths}, 0, causal, causal.Add(padded)),
		linformerCase("linformer", 0),
		linformerCase("linformer with dropout", caseProbability),
	}
}

// linearKind is a linear attention by its features.
type linearKind struct {
	id, kind, source string
	build            func(at nn.Site) nn.Layer
	complex          func(x Matrix[complex128]) Matrix[complex128]
	real             func(x Matrix[float64]) Matrix[float64]
	back             func(x, delta Matrix[float64]) Matrix[float64]
}

func eluPlusOneKind() linearKind {
	return linearKind{
		"I45", "LinearAttention", "Conti (15)–(17)", func(at nn.Site) nn.Layer { return nn.NewLinearAttention(at) },
		EluPlusOneForward[complex128], EluPlusOneForward[float64], EluPlusOneBackward[float64],
	}
}

func taylorKind() linearKind {
	const eps = 1e-5 // the site's
	return linearKind{
		"I46", "TaylorAttention", "Conti 2.1.2, errata C5", func(at nn.Site) nn.Layer { return nn.NewTaylorAttention(at) },
		func(x Matrix[complex128]) Matrix[complex128] { return TaylorFeaturesForward(x, eps) },
		func(x Matrix[float64]) Matrix[float64] { return TaylorFeaturesForward(x, eps) },
		func(x, delta Matrix[float64]) Matrix[float64] { return TaylorFeaturesBackward(x, eps, delta) },
	}
}

// on is the Case with a mask; masks are that of each sequence.
func (l linearKind) on(name string, see nn.Visibility, dropout float64, masks ...Matrix[float64]) Case {
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK}
	var resid Matrix[float64]
	if dropout > 0 {
		resid = caseDropout("attn.resid_dropout", fixtureBatch*fixtureTokens, fixtureFeatures)
	}
	visible := make([]Matrix[float64], len(masks))
	for b, m := range masks {
		visible[b] = m.Exp()
	}
	return Case{
		ID: l.id, Name: name, Types: []string{l.kind}, Source: l.source,
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout, at.Mask = dropout, nn.NewMask(at.Sub("own"), at.Dims, see)
			return l.build(at.At("attn")).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			out := eachHead(qkv, heads, func(b, _ int, q, k, v Matrix[complex128]) Matrix[complex128] {
				return LinearAttentionForward(l.complex(q), l.complex(k), v, visible[b])
			})
			return DropoutForward(LinearForward(out, p["attn.c_proj.weight"], p["attn.c_proj.bias"]), resid)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			out := eachHead(qkv, heads, func(b, _ int, q, k, v Matrix[float64]) Matrix[float64] {
				return LinearAttentionForward(l.real(q), l.real(k), v, visible[b])
			})
			d := DropoutBackward(resid, delta)
			d, g["attn.c_proj.weight"], g["attn.c_proj.bias"] = LinearBackward(out, p["attn.c_proj.weight"], d)
			d = eachHeadBackward(qkv, heads, d, func(b, _ int, q, k, v, delta Matrix[float64]) (dq, dk, dv Matrix[float64]) {
				dq, dk, dv = LinearAttentionBackward(l.real(q), l.real(k), v, visible[b], delta)
				return l.back(q, dq), l.back(k, dk), dv
			})
			g[input], g["attn.c_attn.weight"], g["attn.c_attn.bias"] = LinearBackward(p[input], p["attn.c_attn.weight"], d)
			return g
		},
	}
}

func linformerCase(name string, dropout float64) Case {
	const n, mixed = fixtureBatch * fixtureTokens, 4
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK}
	var resid Matrix[float64]
	if dropout > 0 {
		heads.Drop = caseDropout("attn.attn_dropout", fixtureHeads*n, mixed)
		resid = caseDropout("attn.resid_dropout", n, fixtureFeatures)
	}
	return Case{
		ID: "I47", Name: name, Types: []string{"Linformer"}, Source: "Conti (19)",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout, at.Mask = dropout, nn.NewMask(at.Sub("own"), at.Dims, nn.All{})
			return nn.NewLinformer(at.At("attn"), mixed).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			out, _ := linformerHeads(qkv, heads, p)
			return DropoutForward(LinearForward(out, p["attn.c_proj.weight"], p["attn.c_proj.bias"]), resid)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			g := Parameters[float64]{}
			qkv := LinearForward(p[input], p["attn.c_attn.weight"], p["attn.c_attn.bias"])
			out, back := linformerHeads(qkv, heads, p)
			d := DropoutBackward(resid, delta)
			d, g["attn.c_proj.weight"], g["attn.c_proj.bias"] = LinearBackward(out, p["attn.c_proj.weight"], d)
			d, g["attn.e.weight"], g["attn.f.weight"] = back(d)
			g[input], g["attn.c_attn.weight"], g["attn.c_attn.bias"] = LinearBackward(p[input], p["attn.c_attn.weight"], d)
			return g
		},
	}
}

// linformerHeads is all heads, and their backward pass from Δ to the packed projections, e and f.
func linformerHeads[T Number](qkv Matrix[T], m MultiHead, p Parameters[T]) (out Matrix[T], back func(delta Matrix[T]) (d, de, df Matrix[T])) {
	e, f := p["attn.e.weight"], p["attn.f.weight"]
	out = eachHead(qkv, m, func(b, h int, q, k, v Matrix[T]) Matrix[T] {
		return LinformerForward(q, k, v, e, f, m.drop(b, h, q.Rows))
	})
	return out, func(delta Matrix[T]) (d, de, df Matrix[T]) {
		de, df = Zeros[T](e.Rows, e.Cols), Zeros[T](f.Rows, f.Cols)
		d = eachHeadBackward(qkv, m, delta, func(b, h int, q, k, v, delta Matrix[T]) (dq, dk, dv Matrix[T]) {
			dq, dk, dv, partE, partF := LinformerBackward(q, k, v, e, f, m.drop(b, h, q.Rows), delta)
			de, df = de.Add(partE), df.Add(partF)
			return dq, dk, dv
		})
		return d, de, df
	}
}
