package gpt

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// Preset is a configuration with a name, for a flag.
type Preset struct {
	Name, About string
	Config      Config
}

// Presets lists the library's configurations. The last two leave out the network, for FineTune.
func Presets() []Preset {
	return []Preset{
		{"shakespeare", "characters on a CPU, 0.8 M parameters", Shakespeare()},
		{"modern", "the same size from today's parts, 0.8 M parameters", Modern()},
		{"llama", "modern as a LLaMA, which other programs read, 0.8 M parameters", LLaMA()},
		{"baby", "characters, 10.7 M parameters", Baby()},
		{"gpt2", "the smallest GPT-2, 124 M parameters", GPT2()},
		{"paper", "one block of it with a separate head, 85 M parameters", Paper()},
		{"distilgpt2", "half its blocks, 82 M parameters", DistilGPT2()},
		{"smollm2_135m", "the smallest SmolLM2, 135 M parameters", SmolLM2_135M()},
		{"stories15m", "the LLaMA that tells stories, 15 M parameters", Stories15M()},
		{"full_tuning", "tunes every weight of a model", FullTuning()},
		{"lora_tuning", "tunes adapters of a model", LoRATuning()},
	}
}

// PresetOf returns the preset of that name, or an error that lists the names, with the nearest one.
func PresetOf(name string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, errors.Errorf("preset: got %s, want one of %s%s",
		field.Clip(name), strings.Join(names, ", "), spelling.Hint(name, names))
}

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
	c.Options.Offer("dilation", 2) // 1 would be a window without gaps
	c.Options.Offer("global_tokens", 1)
	c.Options.Offer("random_keys", 2)
	return c
}

// Modern returns Shakespeare with the parts that the laboratory has chosen since (study 9 of examples/lab/RESULTS.md):
// rotary positions, RMSNorm, SwiGLU, short convolutions and Muon, 804,096 parameters with the text's 65 characters. Its
// vocab_size is 0, to be set from the text.
func Modern() Config {
	c := Shakespeare()
	c.Position, c.Norm = "rope", "rmsnorm"
	c.MLP, c.Activation, c.NInner = "swiglu", "", 344 // 8/3·d: as many weights as an MLP of 4·d without a gate
	c.With.Set("short_conv", "canon_ac")
	c.Optimizer, c.LearningRate = "muon", 4e-3
	return c
}

// LLaMA returns Modern without its short convolutions, which no published family has: a LLaMA of 812,288 parameters
// with the text's 65 characters. Export writes it in every form; its hidden layer fills blocks of 32 numbers. Its
// vocab_size is 0, to be set from the text.
func LLaMA() Config {
	c := Modern()
	c.NInner = 352
	c.With.Set("short_conv", "")
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
	c.Rope.Theta, c.Attention = 100_000, "gqa"
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

// LoRATuning returns FullTuning with adapters alone, of rank 8 with α = 16 for every matrix as the model's files have
// it, at the ten times higher learning rate that is usual for them, without decay. It needs little memory beyond the
// weights.
func LoRATuning() Config {
	c := FullTuning()
	c.LoraR, c.LoraAlpha, c.LoraFused = 8, 16, true
	c.LearningRate, c.WeightDecay = 3e-4, 0
	return c
}
