package gpt

import (
	"cmp"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// FromHuggingFace reads a config.json in Hugging Face's names, as written by [Config.HuggingFace] or published with a
// GPT-2. Absent keys have Hugging Face's defaults, unknown ones are ignored, and settings that a Config cannot express
// are errors. The training half is left zero. own are the variants of the program that wrote it, if it had any.
func FromHuggingFace(data []byte, own ...parts.Registry) (Config, error) {
	h := gpt2()
	for _, p := range own {
		h.config.Parts = p
	}
	fields := append(h.fields(), h.config.extensions()...)
	err := field.EachKey(data, func(key string, value json.RawMessage) error {
		null := string(value) == "null"
		if null && (key == "n_inner" || key == "architectures") {
			return nil
		}
		f, ok := fields.Find(key)
		if !ok {
			return nil
		}
		if err := f.Decode(value); err != nil {
			return err
		}
		return f.Check()
	})
	if err != nil {
		return Config{}, err
	}
	return h.network()
}

// network returns the Config, if there is one that computes the same.
func (h *huggingFace) network() (Config, error) {
	c := h.config
	c.NInner, c.Dropout = h.inner, h.residual
	c.Activation = cmp.Or(c.Activation, fromHF(c.known().Activations, h.activation))
	c.Head = cmp.Or(c.Head, headOf(h.tied))
	switch {
	case h.modelType != "gpt2" && h.modelType != "pedestrian":
		return Config{}, errors.Errorf("model_type: got %s, want gpt2", field.Clip(h.modelType))
	case c.Activation == "":
		return Config{}, errors.Errorf("activation_function: got %s, want gelu, gelu_new or relu",
			field.Clip(h.activation))
	case h.context != 0 && h.context != c.BlockSize:
		return Config{}, errors.Errorf("n_ctx: got %d, want n_positions %d", h.context, c.BlockSize)
	case h.embd != h.residual:
		return Config{}, errors.Errorf("embd_pdrop: got %v, want resid_pdrop %v", h.embd, h.residual)
	case h.attn != h.residual:
		return Config{}, errors.Errorf("attn_pdrop: got %v, want resid_pdrop %v", h.attn, h.residual)
	case !h.scaled:
		return Config{}, errors.New("scale_attn_weights: got false, want true")
	case h.scaledByLayer:
		return Config{}, errors.New("scale_attn_by_inverse_layer_idx: got true, want false")
	case h.crossAttention:
		return Config{}, errors.New("add_cross_attention: got true, want false")
	}
	return c, c.ValidateModel()
}
