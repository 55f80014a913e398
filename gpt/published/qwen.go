package published

// noWindows is the reason why the keys of windows change no logits.
const noWindows = "use_sliding_window is false"

// qwen2 returns the family of Qwen2 (Yang et al. 2024): a LLaMA with biases of queries, keys and values.
func qwen2() Family {
	return Family{
		ModelType:     "qwen2",
		architectures: []string{"Qwen2ForCausalLM"},
		rows: append(llamaRows(llamaSizes{vocabulary: 151_936, context: 32_768, inner: 22_016}),
			fixed("mlp_bias", false).onlyRead(), fixed("use_sliding_window", false)),
		same:  append(llamaSame(), setting{"attention", "gqa_bias"}),
		links: []link{sharedKeys(), fullLayers(), rotary()},
		harmless: map[string][]string{
			noWindows: {"sliding_window", "max_window_layers"},
			"queries, keys and values have biases, whatever it says": {"attention_bias"},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames(),
	}
}

// qwen3 returns the family of Qwen3 (Qwen Team 2025): a LLaMA with norms of the queries and keys of every head.
func qwen3() Family {
	sizes := llamaSizes{vocabulary: 151_936, context: 32_768, inner: 22_016, groups: 32, head: 128}
	return Family{
		ModelType:     "qwen3",
		architectures: []string{"Qwen3ForCausalLM"},
		rows: append(llamaRows(sizes), fixed("attention_bias", false), fixed("mlp_bias", false).onlyRead(),
			fixed("use_sliding_window", false)),
		same:      append(llamaSame(), setting{"attention", "gqa"}, setting{"qk_norm", "head"}),
		links:     []link{sharedKeys(), fullLayers(), rotary()},
		harmless:  map[string][]string{noWindows: {"sliding_window", "max_window_layers"}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames().normed(headGains, headGains),
	}
}
