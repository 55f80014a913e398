package published

// mistral returns the family of Mistral (Jiang et al. 2023): a LLaMA whose tokens may attend to a window alone.
func mistral() family {
	sizes := llamaSizes{vocabulary: 32_000, context: 131_072, inner: 14_336, groups: 8}
	return family{
		modelType:     "mistral",
		architectures: []string{"MistralForCausalLM"},
		rows:          append(llamaRows(sizes), anyJSON("sliding_window", "4096")),
		same:          llamaSame(),
		links:         []link{sharedKeys(), windows(0), rotary()},
		constants:     map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:         llamaNames(),
	}
}
