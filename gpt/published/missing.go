package published

// missing returns, by model_type, the part that a network lacks for a family of other programs.
func missing() map[string]string {
	const (
		experts = "a mixture of experts as its MLP"
		biases  = "a norm with biases beside matrices without biases"
	)
	return map[string]string{
		"mixtral": experts, "qwen2_moe": experts, "qwen3_moe": experts, "olmoe": experts,
		"deepseek_v3": experts + ", and latent attention under its names",
		"gpt_oss":     experts + " in files of 4 bits",
		"falcon":      biases,
		"stablelm":    biases,
		"gptj":        "a hidden layer with biases beside attention without biases",
		"bloom":       "a norm of the embeddings",
		"mamba":       "a recurrence whose state has a decay for every feature and number (S6)",
	}
}
