package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// fields binds the whole table to c. The order is that of the JSON.
func (c *Config) fields() field.List { return append(c.networkFields(), c.trainingFields()...) }

func (c *Config) trainingFields() field.List {
	return train.Fields(&c.Training, &c.Run, c.optimizers())
}

// networkFields say what the network computes.
func (c *Config) networkFields() field.List {
	return slices.Concat(c.sizeFields(), c.partFields(), c.attentionFields())
}

// partFields name the variants.
func (c *Config) partFields() field.List {
	part := func(name string, value *string, known []string, what string) field.Field {
		return field.New(name, value, field.OneOf(known...), what+": "+strings.Join(known, ", "))
	}
	return field.List{
		part("position", &c.Position, names(c.positions()), "how tokens know where they stand"),
		part("attention", &c.Attention, names(c.attentions()), "attention of the blocks"),
		part("norm", &c.Norm, names(c.norms()), "normalisation"),
		part("block", &c.Block, names(c.blocks()), "arrangement of a block: the place of the normalisation"),
		part("activation", &c.Activation, names(c.activations()), "activation of the MLP, gelu being exact"),
		part("head", &c.Head, names(c.heads()), "what makes logits: a matrix of its own, or the token embedding once more"),
	}
}

// attentionFields are for those attentions that list them.
func (c *Config) attentionFields() field.List {
	return field.List{
		field.New("window", &c.Window, field.Size(0), "tokens that a query sees in attention in a window, itself included"),
		field.New("dilation", &c.Dilation, field.Size(0), "dilated, longformer: distance of the keys that the last head sees; 0 is 1, none left out"),
		field.New("global_tokens", &c.GlobalTokens, field.Size(0), "bigbird, dilated, longformer: first tokens that everybody sees"),
		field.New("random_keys", &c.RandomKeys, field.Size(0), "bigbird: random keys of a query"),
		field.New("latent_size", &c.LatentSize, field.Size(0), "mla: size of the latent that keys and values are made of; 0 is n_embd/4"),
		field.New("q_latent_size", &c.QLatentSize, field.Size(0), "mla_rope: size of the latent that queries are made of; 0 is n_embd/2"),
		field.New("rope_size", &c.RopeSize, field.Size(0), "mla_rope: size of the part of a query that is turned; 0 is half of qk_size, made even"),
	}
}

// sizeFields are the sizes of the network and what applies to all of it.
func (c *Config) sizeFields() field.List {
	return field.List{
		field.New("block_size", &c.BlockSize, field.Size(1), "context length in tokens"),
		field.New("vocab_size", &c.VocabSize, field.Size(1), "vocabulary; 0 takes it from the text"),
		field.New("n_layer", &c.NLayer, field.Size(1), "transformer blocks"),
		field.New("n_head", &c.NHead, field.Size(1), "attention heads of a block"),
		field.New("n_embd", &c.NEmbd, field.Size(1), "width of the embeddings"),
		field.New("dropout", &c.Dropout, field.Fraction(), "probability of dropping a value while training"),
		field.New("bias", &c.Bias, field.Any(), "biases in linear layers and layer normalisations"),
		field.New("qk_size", &c.QKSize, field.Size(0), "query and key size of a head; 0 is n_embd/n_head"),
		field.New("v_size", &c.VSize, field.Size(0), "value size of a head; 0 is n_embd/n_head"),
		field.New("n_inner", &c.NInner, field.Size(0), "hidden width of the MLP; 0 is 4·n_embd"),
		field.New("eps", &c.Eps, field.Fraction(), "epsilon of the normalisation; 0 is 1e-5"),
		field.New("rope_theta", &c.RopeTheta, field.NonNegative(), "base of the rotary positions' frequencies; 0 is 10000"),
		field.New("lora_r", &c.LoraR, field.Size(0), "rank of the LoRA adapters; 0 is none"),
		field.New("lora_alpha", &c.LoraAlpha, field.NonNegative(), "alpha of the LoRA adapters; 0 is lora_r"),
		field.New("lora_targets", &c.LoraTargets, field.Any(), "comma-separated endings of the adapted layers' names, such as c_attn,lm_head; empty is all"),
		field.New("lora_scale", &c.LoraScale, field.OneOf("alpha/r", "alpha"), "factor on a LoRA adapter: alpha/r, alpha"),
	}
}
