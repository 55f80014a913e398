package verify

// mutations lists the mistakes people make with these formulas, and five changes
// that look like mistakes and are none.
func mutations() []mutation {
	wrong := func(name string, edits ...edit) mutation { return mutation{name, "Generic", false, edits} }
	in := func(fixture string, m mutation) mutation { m.fixture = fixture; return m }
	same := func(name string, edits ...edit) mutation { return mutation{name, "Generic", true, edits} }

	const scale, dcausal = "float64(q.Cols)", "drho.Sub(rowsum).Mul(rho)"
	const add, softmax = "scaled.plus(Lift[T](mask))", "return causal.Softmax()"
	const projection = ".Sub(norm.Mul(norm.Mul(g).Mean()))"
	const visible, hidden = "return j <= i })", "math.Inf(-1)"
	const wpe = `r.embeddingBackward("wpe", Positions(r.Batch, r.Context), d1)`
	const tied = `r.g["wte.weight"].Add(r.g["lm_head.weight"].Transpose())`
	noMath := edit{file: "mask.go", old: `import "math"`}
	afterQKV := func(line string) edit { // a line after the one that leaves the bias of c_attn
		return edit{"block.go", "return ResidualBackward(d5,", line + "\n\treturn ResidualBackward(d5,", 1}
	}
	keys := func(value string) edit { // columns 6 to 12 of the bias are the keys'
		return afterQKV("bias := r.g[h+\"attn.c_attn.bias\"]\n\tr.g[h+\"attn.c_attn.bias\"] = JoinColumns(bias.Columns(0, 6), " + value + ", bias.Columns(12, 22))")
	}

	return append(variantMutations(), []mutation{
		same("original"),

		// the set-up
		wrong("eps_1e-6", edit{"fixture.go", "Eps: 1e-5", "Eps: 1e-6", 1}),
		wrong("eps_0", edit{"fixture.go", "Eps: 1e-5", "Eps: 0", 1}),
		wrong("targets_unshifted", edit{"fixture.go", "text[:len(text)-1], text[1:]", "text[:len(text)-1], text[:len(text)-1]", 1}),
		in("WithPadding", wrong("pad_mask_missing", edit{"fixture.go", "CausalMask(fixtureTokens).Add(PaddingMask(padding))", "CausalMask(fixtureTokens)", 1})),

		// activation
		wrong("gelu_other_fwd", edit{"activation.go", "return x.Mul(normalCDF(x))", "return GELUTanhForward(x)", 1}),
		wrong("gelu_other_bwd", edit{"activation.go", "return delta.Mul(normalCDF(x).Add(x.Mul(density)))", "_ = density\n\treturn GELUTanhBackward(x, delta)", 1}),
		wrong("gelu_no_deriv", edit{"activation.go", "return delta.Mul(normalCDF(x).Add(x.Mul(density)))", "_ = density\n\treturn delta", 1}),
		in("WithReLU", same("relu_ge0", edit{"function.go", "realPart(a) > 0", "realPart(a) >= 0", 1})),

		// attention: scale and mask
		wrong("scale_d_model", edit{"attention.go", scale, "fixtureFeatures", 2}),
		wrong("scale_dh", edit{"attention.go", scale, "fixtureValues", 2}),
		wrong("scale_none", edit{"attention.go", scale, "1", 2}),
		wrong("scale_forget_bwd", edit{"attention.go", "dcausal.Scale(1 / math.Sqrt(float64(q.Cols)))", "dcausal", 1}),
		wrong("mask_offby1_strict", edit{"mask.go", visible, "return j < i })", 1}, edit{"mask.go", hidden, "-1e9", 1}, noMath),
		wrong("mask_offby1_future", edit{"mask.go", visible, "return j <= i+1 })", 1}),
		wrong("mask_none", edit{"mask.go", visible, "return true })", 1}),
		wrong("mask_-10", edit{"mask.go", hidden, "-10", 1}, noMath),
		same("mask_-1e4", edit{"mask.go", hidden, "-1e4", 1}, noMath),
		wrong("mask_multiplicative", edit{"attention.go", add, "scaled.Mul(Lift[T](mask).Exp())", 1}),
		wrong("mask_multiplicative+mult_keep_mask", edit{"attention.go", add, "scaled.Mul(Lift[T](mask).Exp())", 1},
			edit{"attention.go", dcausal, dcausal + ".Mul(Lift[T](mask).Exp())", 1}),
		same("mask_bwd_extra", edit{"attention.go", dcausal, dcausal + ".Mul(Lift[T](mask).Exp())", 1}),
		wrong("post_softmax_zero", edit{"attention.go", add, "Lift[T](mask).Exp()", 1}, edit{"attention.go", softmax, "return scaled.Softmax().Mul(causal)", 1}),
		wrong("softmax_axis0", edit{"attention.go", softmax, "return causal.Transpose().Softmax().Transpose()", 1}),

		// attention: backward
		wrong("softmax_drop_rowsum", edit{"attention.go", dcausal, "drho.Mul(rho).Add(rowsum.Scale(0))", 1}),
		wrong("softmax_colsum", edit{"attention.go", "drho.Mul(rho).SumFeatures()", "drho.Mul(rho).SumTokens()", 1}),
		wrong("swap_dS_T", edit{"attention.go", "= draw.MatMul(k)", "= draw.Transpose().MatMul(k)", 1}, edit{"attention.go", "draw.Transpose().MatMul(q)", "draw.MatMul(q)", 1}),
		wrong("swap_q_k", edit{"attention.go", "draw.MatMul(k)", "draw.MatMul(q)", 1}, edit{"attention.go", "draw.Transpose().MatMul(q)", "draw.Transpose().MatMul(k)", 1}),
		wrong("p_not_transposed", edit{"attention.go", "DropoutForward(rho, drop).Transpose()", "DropoutForward(rho, drop)", 1}),
		wrong("drop_q_branch", edit{"attention.go", "return dq, dk, dv", "return dq.Scale(0), dk, dv", 1}),
		wrong("drop_k_branch", edit{"attention.go", "return dq, dk, dv", "return dq, dk.Scale(0), dv", 1}),
		wrong("drop_v_branch", edit{"attention.go", "return dq, dk, dv", "return dq, dk, dv.Scale(0)", 1}),
		wrong("head_interleave", edit{"attention.go", "JoinColumns(heads...)", "interleave(JoinColumns(heads...), m.Heads)", 1},
			edit{"attention.go", "func split[", interleave + "func split[", 1}),
		wrong("qkv_input_is_x_not_ln", edit{"block.go", `r.queriesBackward(i, b.A2, dqkv)`, `r.queriesBackward(i, b.A1, dqkv)`, 1}),
		wrong("key_bias_wrong_axis", keys("dqkv.Columns(6, 12).SumFeatures().Tokens(0, 6).Transpose()")),
		same("key_bias_zero_shortcut", keys("Zeros[T](1, 6)")),
		same("bv_shortcut_eq24", afterQKV("r.g[h+\"attn.c_attn.bias\"] = JoinColumns(r.g[h+\"attn.c_attn.bias\"].Columns(0, 12), d3.SumTokens())")),
		wrong("wo_forgotten", edit{"block.go", `d3 := r.at(h+"attn.heads", r.linearBackward(h+"attn.c_proj", b.A3, d4))`,
			`r.linearBackward(h+"attn.c_proj", b.A3, d4)
	d3 := r.at(h+"attn.heads", JoinColumns(d4, d4.Columns(0, 2)))`, 2}),

		// layer normalisation
		wrong("ln_forget_gamma", edit{"layernorm.go", "g := delta.Mul(w)", "g := delta", 1}),
		wrong("ln_unbiased_bwd", edit{"layernorm.go", "g.Sub(g.Mean())" + projection, "g.Sub(g.Mean().Scale(8.0 / 7)).Sub(norm.Mul(norm.Mul(g).Mean().Scale(8.0 / 7)))", 1}),
		wrong("ln_drop_mean", edit{"layernorm.go", "g.Sub(g.Mean())", "g", 1}),
		wrong("ln_drop_proj", edit{"layernorm.go", projection, "", 1}),
		wrong("ln_wrong_precedence", edit{"layernorm.go", projection, ".Sub(norm.Mul(norm.Mean()).Mul(g))", 1}),
		wrong("ln_sum_tokens", edit{"layernorm.go", "g.Sub(g.Mean())" + projection, "g.Sub(g.SumTokens().Scale(1.0 / 12)).Sub(norm.Mul(norm.Mul(g).SumTokens().Scale(1.0 / 12)))", 1}),
		wrong("ln_no_invsigma", edit{"layernorm.go", projection + ".Div(sigma)", projection + ".Add(sigma.Scale(0))", 1}),
		wrong("ln_sigma_plus_eps_fwd", edit{"layernorm.go", ".Mean().Shift(eps).Sqrt()", ".Mean().Sqrt().Shift(eps)", 1}),
		wrong("ln_gamma_grad_no_xhat", edit{"layernorm.go", "norm.Mul(delta).SumTokens()", "delta.SumTokens()", 1}),

		// the stack
		wrong("bias_mean", edit{"gpt.go", "d10 := r.finalBackward", "r.g[\"lm_head.bias\"] = r.g[\"lm_head.bias\"].Scale(1.0 / 12)\n\td10 := r.finalBackward", 1}),
		wrong("skip1_forgotten", edit{"block.go", `ResidualBackward(d5, r.normBackward(h+"ln_1", b.A1, d2))`, `r.normBackward(h+"ln_1", b.A1, d2)`, 1}),
		wrong("skip2_forgotten", edit{"block.go", `ResidualBackward(d10, r.normBackward(h+"ln_2", b.A5, d6))`, `r.normBackward(h+"ln_2", b.A5, d6)`, 1}),
		wrong("ln1_uses_X0", edit{"gpt.go", "for i := len(a.Blocks) - 1; i >= 0; i-- {", "for i := len(a.Blocks) - 1; i >= 0; i-- {\n\t\ta.Blocks[i].A1 = a.A1", 1}),

		// loss
		wrong("ce_sum_vs_mean", edit{"crossentropy.go", "pred.Sub(gt).Scale(weight(targets, reduction))", "pred.Sub(gt)", 1}),
		wrong("ce_sign", edit{"crossentropy.go", "pred.Sub(gt)", "gt.Sub(pred)", 1}),
		wrong("ce_no_onehot", edit{"crossentropy.go", "pred.Sub(gt)", "pred", 1}),
		in("WithPadding", wrong("ce_pad_not_ignored", edit{"crossentropy.go", "logits.Softmax().Mul(kept)", "logits.Softmax().Add(kept.Scale(0))", 1})),
		in("WithPadding", wrong("ce_div_by_total", edit{"crossentropy.go", "if target != Ignore {", "if target >= Ignore {", 1})),

		// embeddings
		wrong("emb_overwrite", edit{"embedding.go", "+= delta.At(i, j)", "= delta.At(i, j)", 1}, edit{"variants.go", wpe, wpeOnce, 1}),
		wrong("pos_shift1", edit{"variants.go", wpe, wpe + "\n\tr.g[\"wpe.weight\"] = JoinTokens(Zeros[T](1, d1.Cols), r.g[\"wpe.weight\"].Tokens(0, 8))", 1}),
		wrong("pos_overwrite_batch", edit{"variants.go", wpe, `r.embeddingBackward("wpe", Positions(1, 6), d1.Tokens(6, 12))`, 1}),
		in("WithTying", wrong("tied_forget_head", edit{"gpt.go", tied, `r.g["wte.weight"]`, 1})),
		in("WithTying", wrong("tied_forget_emb", edit{"gpt.go", tied, `r.g["lm_head.weight"].Transpose()`, 1})),

		// adapters
		in("WithLoRA", wrong("lora_forget_frozen_path", edit{"run.go", "dx = dx.Add(through)", "dx = through", 1})),
		in("WithLoRA", wrong("lora_forget_lora_path", edit{"run.go", "dx = dx.Add(through)", "_ = through", 1})),
		in("WithLoRA", wrong("lora_forget_alpha", edit{"lora.go", "MatMul(u.Transpose()).Scale(scale)", "MatMul(u.Transpose())", 1},
			edit{"lora.go", "Transpose().MatMul(delta).Scale(scale)", "Transpose().MatMul(delta)", 1})),
	}...)
}

// wpeOnce sums the two sequences before a scatter that overwrites, so that the
// overwriting shows in the token embeddings alone.
const wpeOnce = `r.embeddingBackward("wpe", Positions(1, 6), d1.Tokens(0, 6).Add(d1.Tokens(6, 12)))`

// interleave lets consecutive features belong to different heads.
const interleave = `func interleave[T Number](x Matrix[T], heads int) Matrix[T] {
	var columns []Matrix[T]
	for j := range x.Cols {
		from := j%heads*(x.Cols/heads) + j/heads
		columns = append(columns, x.Columns(from, from+1))
	}
	return JoinColumns(columns...)
}

`
