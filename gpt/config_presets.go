package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Shakespeare returns nanoGPT's recipe for character-level Shakespeare on a CPU: 804,096 parameters with the text's 65
// characters. Its vocab_size is 0, to be set from the text.
func Shakespeare() Config {
	c := Config{
		Network: Network{
			Stack: parts.Stack{
				NLayer: 4, NHead: 4, NEmbd: 128,
				Position: "learned", Attention: "causal", Norm: "layernorm", Block: "pre", Activation: "gelu",
			},
			BlockSize: 64, Head: "tied",
		},
		Training: train.Training{
			BatchSize: 12, GradientAccumulationSteps: 1,
			Optimizer: "adamw", WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.99, GradClip: 1,
			LearningRate: 1e-3, DecayLR: true, WarmupIters: 100, LRDecayIters: 2000, MinLR: 1e-4,
			Seed: 1337, Kernels: true,
		},
		Run: train.Run{MaxIters: 2000, EvalInterval: 250, EvalIters: 20, LogInterval: 1, OutDir: "out"},
	}
	c.Options.Offer("window", 16)
	c.Options.Offer("global_tokens", 1)
	c.Options.Offer("random_keys", 2)
	return c
}

// Baby returns nanoGPT's larger recipe for character-level Shakespeare: 10,745,088 parameters with the text's 65
// characters. Its vocab_size is 0, to be set from the text.
func Baby() Config {
	c := Shakespeare()
	c.BlockSize, c.NLayer, c.NHead, c.NEmbd = 256, 6, 6, 384
	c.Options.Offer("window", 64)
	c.Dropout = 0.2
	c.BatchSize = 64
	c.MaxIters, c.LRDecayIters = 5000, 5000
	c.EvalIters, c.LogInterval = 200, 10
	return c
}

// GPT2 returns the smallest GPT-2 (Radford et al. 2019), as published: 124,439,808 parameters. With the head "linear"
// it has 163,087,441, as the paper counts. The training half is nanoGPT's.
func GPT2() Config {
	c := Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 1024, 50257, 12, 12, 768
	c.Bias = true
	c.Options.Offer("window", 256)
	c.Activation = "gelu_tanh"
	c.GradientAccumulationSteps = 40
	c.LearningRate, c.MinLR, c.Beta2 = 6e-4, 6e-5, 0.95
	c.MaxIters, c.LRDecayIters, c.WarmupIters = 600_000, 600_000, 2000
	c.EvalInterval, c.EvalIters = 2000, 200
	return c
}

// Paper returns the network of the paper's Table 2: GPT2's sizes with a single block, a separate head and the exact
// GELU, 85,120,849 parameters.
func Paper() Config {
	c := GPT2()
	c.NLayer = 1
	c.Head, c.Activation = "linear", "gelu"
	return c
}
