package gpt

import (
	"bytes"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// HuggingFace returns the network's part of c as the config.json of Hugging Face's GPT-2, indented. Where GPT-2
// computes something else (a post-norm block, heads of another size, adapters, a bias in the head) model_type is
// "pedestrian", so that no other program takes the weights for a GPT-2's, and the keys of a Config say what differs.
func (c Config) HuggingFace() ([]byte, error) {
	declared, err := c.validated()
	if err != nil {
		return nil, err
	}
	c = c.Resolved()
	h := gpt2()
	h.config, h.context, h.inner = c, c.BlockSize, c.NInner
	h.residual, h.embd, h.attn = c.Dropout, c.Dropout, c.Dropout
	h.tied = !declared.ownHead
	if names := parts.Find(c.known().Activations, c.Activation).HF; len(names) > 0 {
		h.activation = names[0]
	}
	differ := h.differences()
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

// differences are the fields in which the network is no GPT-2 and that a GPT-2's keys cannot say.
func (h *huggingFace) differences() (list field.List) {
	c := &h.config
	var plain Config
	plain.NHead, plain.NEmbd, plain.Bias, plain.Parts = c.NHead, c.NEmbd, true, c.Parts
	plain = plain.Resolved()
	representable := map[string]bool{
		"activation": fromHF(c.known().Activations, h.activation) == c.Activation,
		"head":       c.Head == headOf(h.tied),
	}
	defaults := plain.extensions()
	for _, f := range c.extensions() {
		was, _ := defaults.Find(f.Name)
		if f.String() != was.String() && !representable[f.Name] || f.Name == "head" && !representable["head"] {
			list = append(list, f)
		}
	}
	return list
}
