package published

// opt returns the family of OPT (Zhang et al. 2022): a GPT-2 with three matrices for queries, keys and values. The
// positions begin with the third row of their table. Matrices are (out, in).
func opt() family {
	return family{
		modelType:     "opt",
		architectures: []string{"OPTForCausalLM"},
		rows: []row{
			size("vocab_size", 50_272, "vocab_size"),
			size("max_position_embeddings", 2048, "block_size"),
			size("hidden_size", 768, "n_embd"),
			size("word_embed_proj_dim", 0, "n_embd").nullable(),
			size("num_hidden_layers", 12, "n_layer"),
			size("num_attention_heads", 12, "n_head"),
			size("ffn_dim", 3072, "n_inner"),
			{key: "activation_function", value: "relu", fields: []string{"activation"}, names: activationNames},
			{key: "tie_word_embeddings", value: true, fields: []string{"head"}, names: unbiasedHeads},
			fixed("do_layer_norm_before", true), // a norm before attention and MLP
			fixed("_remove_final_layer_norm", false), fixed("enable_bias", true),
			fixed("layer_norm_elementwise_affine", true),
		},
		same: []setting{{"bias", "true"}, {"attention", "causal"}},
		harmless: map[string][]string{
			onlyTraining:      {"dropout", "activation_dropout", "layerdrop"},
			"initial weights": {"init_std"},
		},
		constants: map[string]any{"init_std": 0.02, "use_cache": true},
		names: names{
			prefix: "model.decoder.", written: "model.decoder.", rules: optRules(),
		},
	}
}

// optRules returns the names of OPT's tensors.
func optRules() []rule {
	const block, attention = "layers.#.", "layers.#.self_attn."
	positions := tensor("wpe.weight", "embed_positions.weight")
	positions.skip = 2
	list := []rule{
		tensor("wte.weight", "embed_tokens.weight"), positions,
		matrix(HeadWeight, HeadWeight),
	}
	list = append(list, threeProjections(attention)...)
	list = append(list, affine("h.#.attn.c_proj", attention+"out_proj")...)
	list = append(list, affine("h.#.mlp.c_fc", block+"fc1")...)
	list = append(list, affine("h.#.mlp.c_proj", block+"fc2")...)
	list = append(list, norm("h.#.ln_1", block+"self_attn_layer_norm")...)
	list = append(list, norm("h.#.ln_2", block+"final_layer_norm")...)
	return append(list, norm("ln_f", "final_layer_norm")...)
}
