package gpt

import (
	"bytes"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// HuggingFace returns the network's part of c as the config.json of Hugging Face's GPT-2, indented. If the network
// computes something else than GPT-2 (a post-norm block, heads of another size, adapters, a bias in the head),
// model_type is "pedestrian", so that no other program takes the weights for a GPT-2's, and the differing fields are
// written under their names in Config.
func (c Config) HuggingFace() ([]byte, error) {
	declared, err := c.validated()
	if err != nil {
		return nil, err
	}
	c = c.Resolved()
	h := asGPT2(c, !declared.ownHead)
	differ, _ := h.differences()
	onlyBias := len(differ) == 0 || len(differ) == 1 && differ[0].Name == "bias"
	if !onlyBias || c.Bias && !h.tied {
		h.modelType, h.architectures = "pedestrian", nil
	}
	data, err := append(h.fields(), differ...).MarshalJSON()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return nil, errors.Wrap(err, "config")
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// asGPT2 returns c, which must be resolved, as far as GPT-2's keys can express it.
func asGPT2(c Config, tied bool) huggingFace {
	h := plainGPT2()
	h.config, h.context, h.inner, h.tied = c, c.BlockSize, c.NInner, tied
	h.residual, h.embd, h.attn = c.Dropout, c.Dropout, c.Dropout
	if names := parts.Find(c.known().Activations, c.Activation).HF; len(names) > 0 {
		h.activation = names[0]
	}
	return h
}

// differences returns the fields in which the network differs from GPT-2 and which GPT-2's keys cannot express, and as
// defaults GPT-2's values.
func (h *huggingFace) differences() (list, defaults field.List) {
	c := &h.config
	var plain Config
	plain.NHead, plain.NEmbd, plain.Bias, plain.Parts = c.NHead, c.NEmbd, true, c.Parts
	plain = plain.Resolved()
	representable := map[string]bool{
		"activation": fromHF(c.known().Activations, h.activation) == c.Activation,
		"head":       c.Head == headOf(h.tied),
	}
	defaults = plain.extensions()
	for _, f := range c.extensions() {
		was, _ := defaults.Find(f.Name)
		if f.String() != was.String() && !representable[f.Name] || f.Name == "head" && !representable["head"] {
			list = append(list, f)
		}
	}
	return list, defaults
}

// writeGPT2 returns the config.json of c, or an error if c is not a GPT-2. If c has no biases, those in its files are
// 0.
func writeGPT2(c Config) (map[string]any, error) {
	h := asGPT2(c, c.Head == "tied")
	differ, defaults := h.differences()
	for _, f := range differ.Without("bias") {
		want, _ := defaults.Find(f.Name)
		return nil, errors.Errorf("%s: got %s, want %s", f.Name, field.Clip(f.String()), want.String())
	}
	if c.Bias && !h.tied {
		return nil, errors.New("head: got linear, which has a bias, want tied")
	}
	keys := map[string]any{
		"activation_function": h.activation, "architectures": h.architectures, "attn_pdrop": c.Dropout,
		"embd_pdrop": c.Dropout, "initializer_range": 0.02, "layer_norm_epsilon": c.Eps, "model_type": h.modelType,
		"n_ctx": c.BlockSize, "n_embd": c.NEmbd, "n_head": c.NHead, "n_inner": nil, "n_layer": c.NLayer,
		"n_positions": c.BlockSize, "resid_pdrop": c.Dropout, "tie_word_embeddings": h.tied, "vocab_size": c.VocabSize,
	}
	if c.NInner != 4*c.NEmbd {
		keys["n_inner"] = c.NInner
	}
	return keys, nil
}
