package gpt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// huggingFace is the config.json of Hugging Face's GPT-2: the part of a Config
// that it can say, and what it says beside.
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

// extensions are the fields that GPT-2 has no key for. They are written under
// our names, and only where they differ from what a GPT-2 is.
func (c *Config) extensions() field.List {
	return c.networkFields().Without("block_size", "vocab_size", "n_layer", "n_head", "n_embd", "dropout", "n_inner", "eps")
}

// gpt2 returns Hugging Face's defaults for keys that are absent.
func gpt2() huggingFace {
	var c Config
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Bias, c.Eps = 1024, 50257, 12, 12, 768, true, 1e-5
	return huggingFace{
		config: c, modelType: "gpt2", architectures: []string{"GPT2LMHeadModel"},
		activation: "gelu_new", tied: true, residual: 0.1, embd: 0.1, attn: 0.1, scaled: true,
	}
}

// HuggingFace returns the network's part of c as the config.json of Hugging
// Face's GPT-2, indented. Where GPT-2 computes something else (a post-norm
// block, heads of another size, adapters, a bias in the head) model_type is
// "pedestrian", so that no other program takes the weights for a GPT-2's, and
// the keys of a Config say what differs.
func (c Config) HuggingFace() ([]byte, error) {
	declared, err := c.validated()
	if err != nil {
		return nil, err
	}
	c = c.Resolved()
	tied := !slices.Contains(declared.linears, "lm_head")
	h := gpt2()
	plain := Config{Network: Network{Stack: parts.Stack{NHead: c.NHead, NEmbd: c.NEmbd, Bias: true}}, Parts: c.Parts}.Resolved()
	h.config, h.context, h.inner = c, c.BlockSize, c.NInner
	h.residual, h.embd, h.attn = c.Dropout, c.Dropout, c.Dropout
	h.tied = tied
	if theirs := parts.Find(c.known().Activations, c.Activation).HF; len(theirs) > 0 {
		h.activation = theirs[0]
	}
	representable := map[string]bool{ // what the keys of a GPT-2 can say
		"activation": theirs(c.known().Activations, h.activation) == c.Activation,
		"head":       c.Head == headOf(h.tied),
	}
	defaults := plain.extensions()
	var differ field.List
	for i, f := range c.extensions() {
		if f.String() != defaults[i].String() && !representable[f.Name] || f.Name == "head" && !representable["head"] {
			differ = append(differ, f)
		}
	}
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

// theirs is our name of the activation that Hugging Face calls so, "" if there is none.
func theirs(list []parts.Activation, name string) string {
	i := slices.IndexFunc(list, func(a parts.Activation) bool { return slices.Contains(a.HF, name) })
	if i < 0 {
		return ""
	}
	return list[i].Name
}

func headOf(tied bool) string {
	if tied {
		return "tied"
	}
	return "linear"
}

// FromHuggingFace reads a config.json in Hugging Face's names, as written by
// [Config.HuggingFace] or published with a GPT-2. Absent keys have Hugging
// Face's defaults, unknown ones are ignored, and settings that a Config cannot
// express are errors. The training half is left zero. own are the
// variants of the program that wrote it, if it had any.
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
	c.Activation = cmp.Or(c.Activation, theirs(c.known().Activations, h.activation))
	c.Head = cmp.Or(c.Head, headOf(h.tied))
	switch {
	case h.modelType != "gpt2" && h.modelType != "pedestrian":
		return Config{}, errors.Errorf("model_type: got %s, want gpt2", field.Clip(h.modelType))
	case c.Activation == "":
		return Config{}, errors.Errorf("activation_function: got %s, want gelu, gelu_new or relu", field.Clip(h.activation))
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
