package published

// olmoe returns the family of OLMoE (Muennighoff et al. 2024): a LLaMA with experts, and norms of all queries and of
// all keys together.
func olmoe() family {
	sizes := llamaSizes{
		vocabulary: 50_304, context: 4096, width: 2048, blocks: 16, heads: 16, inner: 2048, eps: 1e-5,
	}
	rows := append(ofExperts(llamaRows(sizes)), expertRows(0.01)...)
	return family{
		modelType:     "olmoe",
		architectures: []string{"OlmoeForCausalLM"},
		rows: append(rows, size("num_experts", 64, "num_experts"),
			size("num_experts_per_tok", 8, "num_experts_per_tok"), normedGates(), attentionBias()),
		same:      append(llamaSame(), setting{"attention", "gqa"}, setting{"qk_norm", "width"}),
		links:     []link{sharedKeys(), fullLayers(), rotary(), balanced()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames().normed(allQueries, allKeys).experts("mlp", "gate_proj", "up_proj", "down_proj"),
	}
}
