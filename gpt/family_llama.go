package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// llama returns the family of LLaMA (Touvron et al. 2023): norms without a mean, gated MLPs, rotary positions, no
// biases, and optionally fewer heads of keys and values than of queries.
func llama() family {
	return family{modelType: "llama", names: layout.LLaMA(), read: readLLaMA, write: writeLLaMA}
}

// llamaFile holds a config.json of LLaMA or Qwen2: the part of a Config that its keys can express, and its other keys.
type llamaFile struct {
	config Config

	groups, head           int // number of heads of keys and values, and features of each; 0 means the default
	activation             string
	tied                   bool
	attentionBias, mlpBias bool
	dropout                float64 // of attention weights
	sliding                bool
	layers                 []string // kind of each block's attention
	rotated                float64  // fraction of a head's features that are rotated
}

// fields binds Hugging Face's keys.
func (l *llamaFile) fields() field.List {
	c := &l.config
	return field.List{
		field.New("vocab_size", &c.VocabSize, field.Size(1), ""),
		field.New("max_position_embeddings", &c.BlockSize, field.Size(1), ""),
		field.New("hidden_size", &c.NEmbd, field.Size(1), ""),
		field.New("intermediate_size", &c.NInner, field.Size(1), ""),
		field.New("num_hidden_layers", &c.NLayer, field.Size(1), ""),
		field.New("num_attention_heads", &c.NHead, field.Size(1), ""),
		field.New("num_key_value_heads", &l.groups, field.Size(1), ""),
		field.New("head_dim", &l.head, field.Size(1), ""),
		field.New("hidden_act", &l.activation, field.Any(), ""),
		field.New("rms_norm_eps", &c.Eps, field.Fraction(), ""),
		field.New("rope_theta", &c.RopeTheta, field.Positive(), ""),
		field.New("tie_word_embeddings", &l.tied, field.Any(), ""),
		field.New("attention_bias", &l.attentionBias, field.Any(), ""),
		field.New("mlp_bias", &l.mlpBias, field.Any(), ""),
		field.New("attention_dropout", &l.dropout, field.Fraction(), ""),
		field.New("use_sliding_window", &l.sliding, field.Any(), ""),
		field.New("layer_types", &l.layers, field.Any(), ""),
		field.New("partial_rotary_factor", &l.rotated, field.Positive(), ""),
	}
}

// readLLaMA reads the config.json of a LLaMA.
func readLLaMA(data []byte, own []parts.Registry) (Config, error) {
	l := llamaFile{activation: "silu", rotated: 1} // and Hugging Face's other defaults
	c := &l.config
	c.VocabSize, c.BlockSize, c.NEmbd, c.NInner, c.NLayer, c.NHead = 32_000, 2048, 4096, 11_008, 32, 32
	c.Eps, c.RopeTheta = 1e-6, 10_000
	if err := l.read(data, own, "max_sequence_length"); err != nil {
		return Config{}, err
	}
	if c.Attention = "causal"; l.groups != c.NHead {
		c.Attention = "gqa"
		c.Options.Offer("n_kv_head", l.groups)
	}
	if l.attentionBias {
		return Config{}, errors.New("attention_bias: got true, want false")
	}
	return l.network()
}

// read reads the keys that the families share. The keys in harmless change no logits.
func (l *llamaFile) read(data []byte, own []parts.Registry, harmless ...string) error {
	for _, p := range own {
		l.config.Parts = p
	}
	nullable := []string{"num_key_value_heads", "head_dim", "attention_dropout", "layer_types", "rope_theta"}
	if err := readKeys(data, l.fields(), nullable, harmless); err != nil {
		return err
	}
	if l.groups == 0 {
		l.groups = l.config.NHead
	}
	return l.readRope(data)
}

// network returns the Config that computes the same, or an error if there is none.
func (l *llamaFile) network() (Config, error) {
	c := l.config
	c.Position, c.Norm, c.MLP, c.Head = "rope", "rmsnorm", "swiglu", headOf(l.tied)
	c.QKSize, c.VSize = l.head, l.head
	switch {
	case c.NHead%l.groups != 0:
		return Config{}, errors.Errorf("num_key_value_heads: got %d, want a divisor of num_attention_heads %d",
			l.groups, c.NHead)
	case l.head == 0 && c.NEmbd%c.NHead != 0:
		return Config{}, errors.Errorf("num_attention_heads: got %d, want a divisor of hidden_size %d",
			c.NHead, c.NEmbd)
	case l.activation != "silu" && l.activation != "swish":
		return Config{}, errors.Errorf("hidden_act: got %s, want silu", field.Clip(l.activation))
	case l.mlpBias:
		return Config{}, errors.New("mlp_bias: got true, want false")
	case l.dropout != 0:
		return Config{}, errors.Errorf("attention_dropout: got %v, want 0", l.dropout)
	case l.rotated != 1:
		return Config{}, errors.Errorf("partial_rotary_factor: got %v, want 1", l.rotated)
	case l.sliding:
		return Config{}, errors.New("use_sliding_window: got true, want false")
	}
	for _, kind := range l.layers {
		if kind != "full_attention" {
			return Config{}, errors.Errorf("layer_types: got %s, want full_attention", field.Clip(kind))
		}
	}
	if n := len(l.layers); n != 0 && n != c.NLayer {
		return Config{}, errors.Errorf("layer_types: got %d, want one for each of num_hidden_layers %d", n, c.NLayer)
	}
	return c, nil
}
