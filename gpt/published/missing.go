package published

// missing returns, by model_type, the part that a network lacks for a family of other programs.
func missing() map[string]string {
	const biases = "a norm with biases beside matrices without biases"
	return map[string]string{
		"qwen2_moe":   "a gate of the shared experts",
		"deepseek_v3": "experts in groups, and latent attention under its names",
		"gpt_oss":     "experts with biases, in files of 4 bits",
		"falcon":      biases,
		"stablelm":    biases,
		"gptj":        "a hidden layer with biases beside attention without biases",
		"bloom":       "a norm of the embeddings",
		"mamba":       "a recurrence whose state has a decay for every feature and number (S6)",
	}
}
