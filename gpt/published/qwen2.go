package published

import "github.com/pedestrian-ml/pedestrian/gpt/internal/field"

// qwen2 returns the family of Qwen2 (Yang et al. 2024): a LLaMA with biases of queries, keys and values.
func qwen2() Family {
	return Family{
		ModelType:     "qwen2",
		architectures: []string{"Qwen2ForCausalLM"},
		rows: append(llamaRows(151_936, 32_768, 22_016),
			fixed("mlp_bias", false).onlyRead(), fixed("use_sliding_window", false)),
		same: append(llamaSame(), setting{"attention", "gqa_bias"}),
		read: func(data []byte, file, _ field.List) error {
			_, err := readLLaMA(data, file)
			return err
		},
		write:    func(file, _ field.List) error { return writeLLaMA(file) },
		harmless: []string{"attention_bias", "sliding_window", "max_window_layers"},
		constants: map[string]any{
			"initializer_range": 0.02, "rope_scaling": nil, "use_cache": true,
		},
		names: llamaNames(),
	}
}
