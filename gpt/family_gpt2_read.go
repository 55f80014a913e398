package gpt

import (
	"cmp"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// readGPT2 reads the config.json of a GPT-2.
func readGPT2(data []byte, own []parts.Registry) (Config, error) {
	h := plainGPT2()
	for _, p := range own {
		h.config.Parts = p
	}
	oldest := []string{"n_special", "predict_special_tokens"} // of OpenAI's first GPT
	fields := append(h.fields(), h.config.extensions()...)
	if err := readKeys(data, fields, []string{"n_inner", "architectures"}, oldest); err != nil {
		return Config{}, err
	}
	return h.network()
}

// network returns the Config that computes the same, or an error if there is none.
func (h *huggingFace) network() (Config, error) {
	c := h.config
	c.NInner, c.Dropout = h.inner, h.residual
	c.Activation = cmp.Or(c.Activation, fromHF(c.known().Activations, h.activation))
	c.Head = cmp.Or(c.Head, headOf(h.tied))
	switch {
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
	return c, nil
}
