package gpt

import "github.com/pedestrian-ml/pedestrian/gpt/train"

// FullTuning returns nanoGPT's recipe for fine-tuning a GPT-2 on Shakespeare: 20 steps of 32 sequences at a constant
// 3e-5. It leaves out the network, which FineTune takes from the tuned model.
func FullTuning() Config {
	return Config{
		Training: train.Training{
			BatchSize: 1, GradientAccumulationSteps: 32,
			Optimizer: "adamw", WeightDecay: 0.1, Beta1: 0.9, Beta2: 0.95, GradClip: 1,
			LearningRate: 3e-5,
			Seed:         1337, Kernels: true,
		},
		Run: train.Run{MaxIters: 20, EvalInterval: 5, EvalIters: 40, LogInterval: 1, OutDir: "out"},
	}
}

// LoRATuning returns FullTuning with adapters alone, of rank 8 with α = 16 for every matrix, at the ten times higher
// learning rate that is usual for them, without decay. It needs little memory beyond the weights.
func LoRATuning() Config {
	c := FullTuning()
	c.LoraR, c.LoraAlpha = 8, 16
	c.LearningRate, c.WeightDecay = 3e-4, 0
	return c
}
