package published

// qwen3MoE returns the family of Qwen3 with experts (Qwen Team 2025), in every block.
func qwen3MoE() family {
	sizes := llamaSizes{
		vocabulary: 151_936, context: 32_768, width: 2048, blocks: 24, groups: 4,
	}
	rows := append(without(ofExperts(llamaRows(sizes)), "intermediate_size"), expertRows(0.001)...)
	return family{
		modelType:     "qwen3_moe",
		architectures: []string{"Qwen3MoeForCausalLM"},
		rows: append(rows, size("moe_intermediate_size", 768, "n_inner"), size("num_experts", 128, "num_experts"),
			size("num_experts_per_tok", 8, "num_experts_per_tok"), normedGates(),
			fixed("decoder_sparse_step", 1), emptyList("mlp_only_layers"),
			attentionBias(), fixed("use_sliding_window", false)),
		same:  append(llamaSame(), setting{"attention", "gqa"}, setting{"qk_norm", "head"}),
		links: []link{sharedKeys(), fullLayers(), rotary(), balanced()},
		harmless: map[string][]string{
			noWindows: {"sliding_window", "max_window_layers"},
			"every block has experts, of moe_intermediate_size": {"intermediate_size"},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames().normed(headGains, headGains).experts("mlp", "gate_proj", "up_proj", "down_proj"),
	}
}

// normedGates returns the row of norm_topk_prob.
func normedGates() row {
	return row{key: "norm_topk_prob", value: false, fields: []string{"norm_topk_prob"}}
}
