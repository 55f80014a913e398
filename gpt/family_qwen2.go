package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// qwen2 returns the family of Qwen2 (Yang et al. 2024): a LLaMA with biases of queries, keys and values.
func qwen2() family {
	return family{modelType: "qwen2", names: layout.LLaMA(), read: readQwen2, write: writeQwen2}
}

// readQwen2 reads the config.json of a Qwen2.
func readQwen2(data []byte, own []parts.Registry) (Config, error) {
	l := llamaFile{activation: "silu", rotated: 1} // and Hugging Face's other defaults
	c := &l.config
	c.VocabSize, c.BlockSize, c.NEmbd, c.NInner, c.NLayer, c.NHead = 151_936, 32_768, 4096, 22_016, 32, 32
	c.Eps, c.RopeTheta = 1e-6, 10_000
	if err := l.read(data, own, "sliding_window", "max_window_layers"); err != nil {
		return Config{}, err
	}
	c.Attention = "gqa_bias"
	c.Options.Offer("n_kv_head", l.groups)
	return l.network()
}

// writeQwen2 returns the config.json of c, or an error if c is not a Qwen2.
func writeQwen2(c Config) (map[string]any, error) {
	if err := c.checkLLaMA("gqa_bias"); err != nil {
		return nil, err
	}
	keys := c.llamaKeys()
	keys["model_type"], keys["architectures"] = "qwen2", []string{"Qwen2ForCausalLM"}
	keys["use_sliding_window"] = false
	return keys, nil
}
