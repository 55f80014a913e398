package published

// missing returns, by model_type, the part that a network lacks for a family of other programs.
func missing() map[string]string {
	const biases = "a norm with biases beside matrices without biases"
	const gemma4 = "embeddings of every block, keys and values of an earlier block, heads of another size and other " +
		"rotations in blocks without a window, norms of values, and a factor on the result of a block"
	return map[string]string{
		"qwen2_moe":   "a gate of the shared experts",
		"deepseek_v3": "experts in groups, and latent attention under its names",
		"gemma4":      gemma4,
		"gemma4_text": gemma4,
		"falcon":      biases,
		"stablelm":    biases,
		"gptj":        "a hidden layer with biases beside attention without biases",
		"bloom":       "a norm of the embeddings",
		"mamba":       "a recurrence whose state has a decay for every feature and number (S6)",
	}
}
