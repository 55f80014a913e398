package gpt

import (
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// writeLLaMA returns the config.json of c, or an error if c is not a LLaMA.
func writeLLaMA(c Config) (map[string]any, error) {
	attention := "causal"
	if c.Attention == "gqa" {
		attention = c.Attention
	}
	if err := c.checkLLaMA(attention); err != nil {
		return nil, err
	}
	keys := c.llamaKeys()
	keys["model_type"], keys["architectures"] = "llama", []string{"LlamaForCausalLM"}
	keys["attention_bias"], keys["mlp_bias"], keys["pretraining_tp"] = false, false, 1
	return keys, nil
}

// checkLLaMA returns an error that names the first field in which c, which must be resolved, differs from a LLaMA with
// that attention.
func (c Config) checkLLaMA(attention string) error {
	head := c.Head
	if head != "tied" {
		head = "linear"
	}
	for _, f := range []struct{ name, got, want string }{
		{"position", c.Position, "rope"},
		{"attention", c.Attention, attention},
		{"norm", c.Norm, "rmsnorm"},
		{"block", c.Block, "pre"},
		{"mlp", c.MLP, "swiglu"},
		{"head", c.Head, head},
		{"bias", strconv.FormatBool(c.Bias), "false"},
		{"v_size", strconv.Itoa(c.VSize), strconv.Itoa(c.QKSize)},
		{"lora_r", strconv.Itoa(c.LoraR), "0"},
	} {
		if f.got != f.want {
			return errors.Errorf("%s: got %s, want %s", f.name, field.Clip(f.got), f.want)
		}
	}
	return nil
}

// llamaKeys returns the keys that the families share.
func (c Config) llamaKeys() map[string]any {
	return map[string]any{
		"attention_dropout": 0.0, "head_dim": c.QKSize, "hidden_act": "silu", "hidden_size": c.NEmbd,
		"initializer_range": 0.02, "intermediate_size": c.NInner, "max_position_embeddings": c.BlockSize,
		"num_attention_heads": c.NHead, "num_hidden_layers": c.NLayer, "num_key_value_heads": c.heads().Groups,
		"rms_norm_eps": c.Eps, "rope_scaling": nil, "rope_theta": c.RopeTheta, "tie_word_embeddings": c.Head == "tied",
		"use_cache": true, "vocab_size": c.VocabSize,
	}
}
