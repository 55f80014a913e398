package verify

// variantMutations lists mistakes in what stands in the place of softmax attention, of LayerNorm, and of the blocks.
func variantMutations() []mutation {
	wrong := func(name, fixture, file, before, after string) mutation {
		return mutation{name, fixture, false, []edit{{file, before, after, 1}}}
	}
	same := func(fixture string) mutation { return mutation{"original_" + fixture, fixture, true, nil} }
	return []mutation{
		same("WithLatents"), same("WithLinear"), same("WithTaylor"), same("WithElman"), same("WithSigma"), same("WithPlain"), same("WithSinusoids"),
		same("WithLongformer"),

		wrong("latent_key_of_one_head", "WithLatents", "latent.go", "overHeads(dturned, r.Heads)", "dturned.Columns(0, turn)"),
		wrong("latent_drop_values", "WithLatents", "latent.go", `r.linearBackward(h+"c_v_up", latent, dv)`, `r.linearBackward(h+"c_v_up", latent, dv).Scale(0)`),
		wrong("rope_not_turned_back", "WithLatents", "rope.go", "rotate(delta, r, -1)", "rotate(delta, r, 1)"),
		wrong("linear_drop_e", "WithLinear", "linear_attention.go", "g.MatMul(v.Transpose()).Sub(e)", "g.MatMul(v.Transpose()).Sub(e.Scale(0))"),
		wrong("taylor_keep_length", "WithTaylor", "taylor.go", ".Sub(hat.Mul(hat.Mul(dhat).SumFeatures()))", ".Sub(hat.Scale(0))"),
		wrong("elman_drop_carried", "WithElman", "elman.go", ".Add(c).Mul(slope)", ".Add(c.Scale(0)).Mul(slope)"),
		wrong("elman_no_slope", "WithElman", "elman.go", ".Add(c).Mul(slope)", ".Add(c).Add(slope.Scale(0))"),
		wrong("sigma_no_eps_bwd", "WithSigma", "layernorm_sigma.go", "divisor := sigma.Shift(eps)", "divisor := sigma.Shift(0 * eps)"),
		wrong("sigma_norm_for_unit", "WithSigma", "layernorm_sigma.go", "unit.Mul(norm.Mul(g).Mean())", "norm.Mul(norm.Mul(g).Mean())"),
		wrong("plain_drop_mean", "WithPlain", "layernorm_plain.go", "delta.Sub(delta.Mean()).Sub(norm", "delta.Sub(norm"),
		wrong("sinusoids_no_scale_bwd", "WithSinusoids", "variants.go", "return d1.Scale(math.Sqrt(float64(d1.Cols)))", "return d1"),
		wrong("longformer_pairs_twice", "WithLongformer", "fixture_variants.go", "Except(DilatedMask(fixtureTokens, 3, 1+head), global)", "DilatedMask(fixtureTokens, 3, 1+head)"),
		wrong("longformer_values_swapped", "WithLongformer", "longformer.go", "local.Transpose().MatMul(q), values.Tokens(0, n)", "local.Transpose().MatMul(q), values.Tokens(n, 2*n)"),
	}
}
