package gpt

// DistilGPT2 returns GPT2 with half the blocks, as distilled from it (Sanh et al. 2019): 81,912,576 parameters.
func DistilGPT2() Config {
	c := GPT2()
	c.NLayer = 6
	return c
}

// SmolLM2_135M returns the smallest SmolLM2 (Ben Allal et al. 2025), a LLaMA with three heads of keys and values to
// nine of queries: 134,515,008 parameters. The training half is GPT2's.
func SmolLM2_135M() Config {
	c := llamaLike()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.NInner = 8192, 49_152, 30, 9, 576, 1536
	c.RopeTheta, c.Attention = 100_000, "gqa"
	c.Options.Offer("n_kv_head", 3)
	return c
}

// Stories15M returns the LLaMA of llama2.c that tells stories (Karpathy 2023): 15,191,712 parameters. The training half
// is GPT2's.
func Stories15M() Config {
	c := llamaLike()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.NInner = 256, 32_000, 6, 6, 288, 768
	return c
}

// llamaLike returns the parts of a LLaMA, without its sizes.
func llamaLike() Config {
	c := GPT2()
	c.Bias, c.Activation, c.Eps = false, "", 1e-5
	c.Position, c.Norm, c.MLP = "rope", "rmsnorm", "swiglu"
	return c
}
