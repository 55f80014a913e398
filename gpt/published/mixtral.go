package published

// mixtral returns the family of Mixtral (Jiang et al. 2024): a Mistral with experts, whose gates are divided by their
// sum, which is a softmax over the experts of a token.
func mixtral() family {
	sizes := llamaSizes{vocabulary: 32_000, context: 131_072, inner: 14_336, groups: 8, eps: 1e-5, theta: 1e6}
	rows := append(ofExperts(llamaRows(sizes)), expertRows(0.001)...)
	return family{
		modelType:     "mixtral",
		architectures: []string{"MixtralForCausalLM"},
		rows: append(rows, size("num_local_experts", 8, "num_experts"),
			size("num_experts_per_tok", 2, "num_experts_per_tok"), anyJSON("sliding_window", "null"),
			fixed("router_jitter_noise", 0.0).onlyRead()),
		same:      append(llamaSame(), setting{"norm_topk_prob", "true"}),
		links:     []link{sharedKeys(), windows(0), rotary(), balanced()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames().experts("block_sparse_moe", "w1", "w3", "w2"),
	}
}
