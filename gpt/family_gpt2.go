package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// huggingFace holds the config.json of Hugging Face's GPT-2: the part of a Config that its keys can express, and its
// other keys.
type huggingFace struct {
	config Config

	modelType            string
	architectures        []string
	context              int
	inner                int
	activation           string
	tied                 bool
	residual, embd, attn float64 // probabilities of dropout
	scaled               bool    // scores / √dρ
	scaledByLayer        bool    // scores / (layer + 1)
	crossAttention       bool
}

// fields binds Hugging Face's keys, in the order in which they are written.
func (h *huggingFace) fields() field.List {
	c := &h.config
	return field.List{
		field.New("model_type", &h.modelType, field.Any(), ""),
		field.New("architectures", &h.architectures, field.Any(), ""),
		field.New("vocab_size", &c.VocabSize, field.Size(1), ""),
		field.New("n_positions", &c.BlockSize, field.Size(1), ""),
		field.New("n_ctx", &h.context, field.Size(1), ""),
		field.New("n_embd", &c.NEmbd, field.Size(1), ""),
		field.New("n_layer", &c.NLayer, field.Size(1), ""),
		field.New("n_head", &c.NHead, field.Size(1), ""),
		field.New("n_inner", &h.inner, field.Size(0), ""),
		field.New("activation_function", &h.activation, field.Any(), ""),
		field.New("resid_pdrop", &h.residual, field.Fraction(), ""),
		field.New("embd_pdrop", &h.embd, field.Fraction(), ""),
		field.New("attn_pdrop", &h.attn, field.Fraction(), ""),
		field.New("layer_norm_epsilon", &c.Eps, field.Fraction(), ""),
		field.New("tie_word_embeddings", &h.tied, field.Any(), ""),
		field.New("scale_attn_weights", &h.scaled, field.Any(), ""),
		field.New("scale_attn_by_inverse_layer_idx", &h.scaledByLayer, field.Any(), ""),
		field.New("add_cross_attention", &h.crossAttention, field.Any(), ""),
	}
}

// extensions returns the fields that GPT-2 has no key for. They are written under a Config's names, and only if they
// differ from GPT-2's values.
func (c *Config) extensions() field.List {
	return c.networkFields().Without(
		"block_size", "vocab_size", "n_layer", "n_head", "n_embd", "dropout", "n_inner", "eps")
}

// gpt2 returns the family of GPT-2 (Radford et al. 2019).
func gpt2() family {
	return family{modelType: "gpt2", names: layout.GPT2(), read: readGPT2, write: writeGPT2}
}

// plainGPT2 returns Hugging Face's defaults for absent keys.
func plainGPT2() huggingFace {
	var c Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Bias, c.Eps = 1024, 50257, 12, 12, 768, true, 1e-5
	return huggingFace{
		config: c, modelType: "gpt2", architectures: []string{"GPT2LMHeadModel"},
		activation: "gelu_new", tied: true, residual: 0.1, embd: 0.1, attn: 0.1, scaled: true,
	}
}

// fromHF returns the activation to which Hugging Face gives that name, or "" if there is none.
func fromHF(list []parts.Activation, name string) string {
	i := slices.IndexFunc(list, func(a parts.Activation) bool { return slices.Contains(a.HF, name) })
	if i < 0 {
		return ""
	}
	return list[i].String()
}

// headOf returns the head that corresponds to "tie_word_embeddings".
func headOf(tied bool) string {
	if tied {
		return "tied"
	}
	return "linear"
}
