package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// fields binds all fields to c, in the order of the JSON.
func (c *Config) fields() field.List { return append(c.networkFields(), c.trainingFields()...) }

func (c *Config) trainingFields() field.List {
	return train.Fields(&c.Training, &c.Run, parts.Names(c.known().Optimizers))
}

// networkFields binds the fields that describe the network.
func (c *Config) networkFields() field.List {
	known := c.known()
	sizes := field.List{
		field.New("block_size", &c.BlockSize, field.Size(1), "context length in tokens"),
		field.New("vocab_size", &c.VocabSize, field.Size(1), "vocabulary; 0 takes it from the text"),
	}
	head := field.List{c.headField()}
	return slices.Concat(sizes, c.SizeFields(), c.Adapters.fields(), c.PartFields(known), head, c.OptionFields(known))
}

func (c *Config) headField() field.Field {
	return parts.NameField("head", &c.Head, parts.Names(c.known().Heads),
		"how logits are computed: by a separate matrix, or by the token embedding again")
}

func (a *Adapters) fields() field.List {
	return field.List{
		field.New("lora_r", &a.LoraR, field.Size(0), "rank of the LoRA adapters; 0 is none"),
		field.New("lora_alpha", &a.LoraAlpha, field.NonNegative(), "alpha of the LoRA adapters; 0 is lora_r"),
		field.New("lora_targets", &a.LoraTargets, field.Any(),
			"comma-separated endings of the adapted layers' names, such as c_attn,lm_head; empty is all"),
		field.New("lora_scale", &a.LoraScale, field.OneOf("alpha/r", "alpha", "alpha/sqrt(r)"),
			"factor on a LoRA adapter: alpha/r, alpha, alpha/sqrt(r)"),
	}
}
