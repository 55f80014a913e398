package verify

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The sources of the cases have fewer tokens than the targets, and the second is padded.
const caseSource = fixtureTokens - 2

func caseLengths() []int { return []int{caseSource, caseSource - 1} }

func crossCases() []Case {
	return []Case{
		crossCase("cross attention", nil, 0),
		crossCase("cross attention to padded sources", caseLengths(), 0),
		crossCase("cross attention with dropout", caseLengths(), caseProbability),
		encoderCase("encoder with padding and a head for what is hidden"),
		decoderCase("decoder", "DecoderBlock", EncoderDecoder{}, func(at nn.Site, m *nn.Memory) nn.Layer {
			return nn.NewDecoderBlock(at, usualAttention, m)
		}),
		decoderCase("post-norm decoder, ε beside σ", "PostNormDecoderBlock", EncoderDecoder{PostNorm: true, Norm: NormSigma},
			func(at nn.Site, m *nn.Memory) nn.Layer {
				at.Norm = func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }
				return nn.NewPostNormDecoderBlock(at, usualAttention, m)
			}),
	}
}

func usualAttention(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }

// caseMemory is an encoder's output, as a parameter z: its gradient is compared, too.
func caseMemory(at nn.Site, lengths []int) *nn.Memory {
	z := at.Param("z", graph.Const(0), at.Batch*caseSource, at.Embd)
	return nn.NewMemory(at.Sub("memory"), z, at.Batch, at.Context, caseSource, lengths)
}

func crossCase(name string, lengths []int, dropout float64) Case {
	const n = fixtureBatch * fixtureTokens
	heads := MultiHead{Batch: fixtureBatch, Heads: fixtureHeads, QK: fixtureQK}
	for _, length := range lengths {
		heads.Masks = append(heads.Masks, SourceMask(fixtureTokens, caseSource, length))
	}
	var resid Matrix[float64]
	if dropout > 0 {
		heads.Drop = caseDropout("cross.attn_dropout", fixtureHeads*n, caseSource)
		resid = caseDropout("cross.resid_dropout", n, fixtureFeatures)
	}
	return Case{
		ID: "I16", Name: name, Types: []string{"CrossAttention"}, Source: "CS 224n (34)–(36), Conti 1.2.5; errata X12, C14, S9",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Dropout = dropout
			return nn.NewCrossAttention(at.At("cross"), caseMemory(at, lengths)).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			return DropoutForward(CrossAttentionForward(p[input], p["z"], caseCross(p), heads), resid)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			dx, dz, g := CrossAttentionBackward(p[input], p["z"], caseCross(p), heads, DropoutBackward(resid, delta))
			return Parameters[float64]{
				input: dx, "z": dz, "cross.c_q.weight": g.Wq, "cross.c_q.bias": g.Bq, "cross.c_kv.weight": g.Wkv,
				"cross.c_kv.bias": g.Bkv, "cross.c_proj.weight": g.Wo, "cross.c_proj.bias": g.Bo,
			}
		},
		Zeros: []Columns{{"cross.c_kv.bias", 0, fixtureHeads * fixtureQK}}, // of the keys
	}
}

func caseCross[T Number](p Parameters[T]) Cross[T] {
	return Cross[T]{
		p["cross.c_q.weight"], p["cross.c_q.bias"], p["cross.c_kv.weight"], p["cross.c_kv.bias"],
		p["cross.c_proj.weight"], p["cross.c_proj.bias"],
	}
}

// caseCoder is the description of a case's side of a model.
func caseCoder(c EncoderDecoder) EncoderDecoder {
	c.Batch, c.Heads, c.QK, c.Eps, c.Layers = fixtureBatch, fixtureHeads, fixtureQK, 1e-5, 1
	c.Source, c.Target, c.Lengths = caseSource, fixtureTokens, caseLengths()
	return c
}

// encoderCase is a post-norm block without a causal mask on texts of which the second is padded, and the linear layer that guesses
// their words.
func encoderCase(name string) Case {
	c := caseCoder(EncoderDecoder{PostNorm: true, Norm: NormSigma})
	c.Source, c.Lengths = fixtureTokens, []int{fixtureTokens, fixtureTokens - 2}
	return Case{
		ID: "I31", Name: name, Types: []string{"PostNormBlock", "LayerNormSigma"}, Source: "Conti (3), CS 224n section 3.5; errata C3, D3b",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			at.Mask = nn.NewMask(at.Sub("padding"), at.Dims, nn.Padding{Lengths: c.Lengths})
			at.Norm = func(at nn.Site) nn.Layer { return nn.NewLayerNormSigma(at) }
			x = nn.NewPostNormBlock(at.At("encoder.h.0"), usualAttention).Forward(x)
			return nn.NewLinear(at.Sub("lm_head"), at.Embd, []int{fixtureVocabulary}, true, graph.Const(0)).Forward(x)
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			r := newPass(c, p)
			return r.linear("lm_head", r.stack("encoder", p[input], r.encoder()).out)
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			r := newPass(c, p)
			s := r.stack("encoder", p[input], r.encoder())
			r.g[input] = r.stackBackward("encoder", s, r.encoder(), r.linearBackward("lm_head", s.out, delta))
			return r.g
		},
		Zeros: keyBias("encoder.h.0.attn.c_attn.bias"),
	}
}

// decoderCase is a block that looks back, then at a source.
func decoderCase(name, kind string, c EncoderDecoder, block func(at nn.Site, m *nn.Memory) nn.Layer) Case {
	c = caseCoder(c)
	return Case{
		ID: "I32", Name: name, Types: []string{kind, "CrossAttention"}, Source: "Conti chapter 1, CS 224n section 3.7; erratum C3",
		Build: func(at nn.Site, x graph.Expr) graph.Expr {
			x = block(at.At("decoder.h.0"), caseMemory(at, c.Lengths)).Forward(x)
			if !c.PostNorm {
				x = nn.NewLayerNorm(at.At("decoder.ln_f")).Forward(x)
			}
			return x
		},
		Forward: func(p Parameters[complex128]) Matrix[complex128] {
			r := newPass(c, p)
			return r.stack("decoder", p[input], r.decoder(p["z"])).out
		},
		Backward: func(p Parameters[float64], delta Matrix[float64]) Parameters[float64] {
			r := newPass(c, p)
			r.dz = Zeros[float64](p["z"].Rows, p["z"].Cols)
			parts := r.decoder(p["z"])
			r.g[input] = r.stackBackward("decoder", r.stack("decoder", p[input], parts), parts, delta)
			r.g["z"] = r.dz
			return r.g
		},
		Zeros: append(keyBias("decoder.h.0.attn.c_attn.bias"), Columns{"decoder.h.0.cross.c_kv.bias", 0, fixtureHeads * fixtureQK}),
	}
}
