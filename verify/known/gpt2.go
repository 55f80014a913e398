package known

// shakespeare is the SHA-256 of tinyshakespeare.
const shakespeare = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"

// gpt2 returns the smallest GPT-2, as Hugging Face publishes it. The numbers of the batch are those that llm.c
// compares itself with, computed by PyTorch in float32; the continuations are from the tests of Hugging Face's
// transformers.
func gpt2() Model {
	return Model{
		Name: "gpt2", Layers: 12, Heads: 12, Embedding: 768, Vocab: 50257, Parameters: 124_439_808,
		Tokens: gpt2Tokens(),
		Files: []File{
			{"config.json", 665, "0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4"},
			{"generation_config.json", 124, "ed0b32ac72c0f5f44a719abb2d7786ea5146c871f83717b7f2018065954de02b"},
			{"tokenizer_config.json", 26, "5e04eb606e3a1583530a42e36c2a6b6615c86f34fe77e44d9ddeb43ff940931f"},
			{"vocab.json", 1_042_301, "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"},
			{"merges.txt", 456_318, "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"},
			{"tokenizer.json", 1_355_256, "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6"},
			{"model.safetensors", 548_105_171, "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707"},
		},
		Greedy: []Continuation{
			{
				IDs: []int{464, 3290},
				More: []int{
					373, 1043, 287, 257, 2214, 1474, 262, 16246, 286, 2688, 290, 2688, 27262, 13, 198, 198, 464, 3290,
				},
			},
			{Prompt: "Hello, my dog is a little", Text: " bit of a mess. I'm not sure if he's going"},
			{Prompt: "Today, I", Text: "'m going to be doing a lot of research on this. I"},
		},
		Batch: &Batch{
			Text: shakespeare, First: 32_768, Rows: 4, Width: 64,
			Val:   Tokenized{32_768, "d5ad4a9d91976783859c221697e3e0488675d095f676fe3fedac339caa4c193a"},
			Train: Tokenized{305_260, "25f64f50080b1237d8d70e36d9ae43ca00855bbb7d5dcac6118c3cb75eeb7b2f"},
			Loss:  5.270007,
			Logits: []float64{-43.431618, -39.836346, -43.065910, -42.828045, -43.529541, -44.318398, -41.227425,
				-41.270760, -42.541393, -42.394997},
			Gradients: []Gradient{
				{"wte.weight", []float64{-0.002320, 0.002072, 0.003717, 0.001307, 0.000632}},
				{"ln_f.weight", []float64{-0.000022, 0.000810, 0.001161, -0.002957, 0.001145}},
				{"ln_f.bias", []float64{-0.011101, 0.008009, -0.004771, -0.002112, -0.005905}},
				{"h.0.ln_2.weight", []float64{-0.018318, 0.004812, 0.008089, -0.001469, -0.002737}},
				{"h.0.mlp.c_fc.bias", []float64{0.003291, 0.002043, -0.001386, 0.000386, 0.001603}},
			},
			Losses: []float64{5.270007, 4.059707, 3.375123, 2.800783, 2.315382, 1.849029, 1.394656, 0.999147,
				0.624080, 0.376511},
		},
	}
}

// gpt2Tokens returns the results of GPT-2's tokenizer, as OpenAI's own program gives them.
func gpt2Tokens() *Tokens {
	return &Tokens{
		IDs: []Encoded{
			{"Hello world", []int{15496, 995}},
			{"Hello, World!", []int{15496, 11, 2159, 0}},
			{"hello world", []int{31373, 995}},
			{"\n", []int{198}},
			{"\n\n", []int{628}},
			{" ", []int{220}},
			{"<|endoftext|>", []int{27, 91, 437, 1659, 5239, 91, 29}},
			{"Once upon a time", []int{7454, 2402, 257, 640}},
			{"naïve café", []int{2616, 38776, 40304}},
			{"日本語", []int{33768, 98, 17312, 105, 45739, 252}},
			{"🙂", []int{8582, 25081}},
			{"1234567890", []int{10163, 2231, 30924, 3829}},
			{"it's I'll we've DON'T", []int{270, 338, 314, 1183, 356, 1053, 23917, 6, 51}},
			{"    def f(x):\n        return x", []int{
				220, 220, 220, 825, 277, 7, 87, 2599, 198, 220, 220, 220, 220, 220, 220, 220, 1441, 2124,
			}},
			{"00000", []int{20483}},
			{"0000000000000000", []int{25645}},
			{"00000000000000000", []int{8269, 10535, 830}},
		},
		Special: []Encoded{{"hello <|endoftext|>", []int{31373, 220, 50256}}},
		Text:    shakespeare,
		Train:   Tokenized{301_966, "502a2bdc8210d1ac5d5674867cb74467dd31db575d25cf6dbb08c8bdbea8680f"},
		Val:     Tokenized{36_059, "68a53422394c26a655ebe641f5c6f49888e8f4e45fe5d6f02abda63ba3ebd65b"},
		All:     Tokenized{338_025, "25c01b32b32f41897a6359dd222ec114992dc30c357bcafbfe6c56672f76cd31"},
	}
}
