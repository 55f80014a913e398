package gpt

import (
	"slices"
	"strconv"
	"strings"
)

// field is one row of the table behind the JSON, the flags and their help, the
// range checks, and the rule for resuming.
type field struct {
	name   string
	value  any // *int, *uint64, *float64, *bool, *string or *[]string, into a Config
	domain domain
	resume bool // may differ from the checkpoint when a run is resumed
	help   string
}

// maxSize bounds every size and count of a Config, so that four times one still
// fits in 32 bits and the product of two in 64.
const maxSize = 1 << 28

// Values of field.resume.
const (
	fixed = false
	free  = true
)

// fields binds the whole table to c. The order is that of the JSON.
func (c *Config) fields() []field { return append(c.networkFields(), c.trainingFields()...) }

// networkFields say what the network computes.
func (c *Config) networkFields() []field {
	return slices.Concat(c.sizeFields(), c.partFields(), c.attentionFields())
}

// partFields name the variants.
func (c *Config) partFields() []field {
	part := func(name string, value *string, known []string, what string) field {
		return field{name, value, oneOf(known...), fixed, what + ": " + strings.Join(known, ", ")}
	}
	return []field{
		part("position", &c.Position, names(c.positions()), "how tokens know where they stand"),
		part("attention", &c.Attention, names(c.attentions()), "attention of the blocks"),
		part("norm", &c.Norm, names(c.norms()), "normalisation"),
		part("block", &c.Block, names(c.blocks()), "arrangement of a block: the place of the normalisation"),
		part("activation", &c.Activation, names(c.activations()), "activation of the MLP, gelu being exact"),
		part("head", &c.Head, names(c.heads()), "what makes logits: a matrix of its own, or the token embedding once more"),
	}
}

// attentionFields are for those attentions that list them.
func (c *Config) attentionFields() []field {
	return []field{
		{"window", &c.Window, size(0), fixed, "tokens that a query sees in attention in a window, itself included"},
		{"dilation", &c.Dilation, size(0), fixed, "dilated, longformer: distance of the keys that the last head sees; 0 is 1, none left out"},
		{"global_tokens", &c.GlobalTokens, size(0), fixed, "bigbird, dilated, longformer: first tokens that everybody sees"},
		{"random_keys", &c.RandomKeys, size(0), fixed, "bigbird: random keys of a query"},
		{"latent_size", &c.LatentSize, size(0), fixed, "mla: size of the latent that keys and values are made of; 0 is n_embd/4"},
		{"q_latent_size", &c.QLatentSize, size(0), fixed, "mla_rope: size of the latent that queries are made of; 0 is n_embd/2"},
		{"rope_size", &c.RopeSize, size(0), fixed, "mla_rope: size of the part of a query that is turned; 0 is half of qk_size, made even"},
	}
}

// sizeFields are the sizes of the network and what applies to all of it.
func (c *Config) sizeFields() []field {
	return []field{
		{"block_size", &c.BlockSize, size(1), fixed, "context length in tokens"},
		{"vocab_size", &c.VocabSize, size(1), fixed, "vocabulary; 0 takes it from the text"},
		{"n_layer", &c.NLayer, size(1), fixed, "transformer blocks"},
		{"n_head", &c.NHead, size(1), fixed, "attention heads of a block"},
		{"n_embd", &c.NEmbd, size(1), fixed, "width of the embeddings"},
		{"dropout", &c.Dropout, fraction(), fixed, "probability of dropping a value while training"},
		{"bias", &c.Bias, anything(), fixed, "biases in linear layers and layer normalisations"},
		{"qk_size", &c.QKSize, size(0), fixed, "query and key size of a head; 0 is n_embd/n_head"},
		{"v_size", &c.VSize, size(0), fixed, "value size of a head; 0 is n_embd/n_head"},
		{"n_inner", &c.NInner, size(0), fixed, "hidden width of the MLP; 0 is 4·n_embd"},
		{"eps", &c.Eps, fraction(), fixed, "epsilon of the normalisation; 0 is 1e-5"},
		{"rope_theta", &c.RopeTheta, nonNegative(), fixed, "base of the rotary positions' frequencies; 0 is 10000"},
		{"lora_r", &c.LoraR, size(0), fixed, "rank of the LoRA adapters; 0 is none"},
		{"lora_alpha", &c.LoraAlpha, nonNegative(), fixed, "alpha of the LoRA adapters; 0 is lora_r"},
		{"lora_targets", &c.LoraTargets, anything(), fixed, "comma-separated endings of the adapted layers' names, such as c_attn,lm_head; empty is all"},
		{"lora_scale", &c.LoraScale, oneOf("alpha/r", "alpha"), fixed, "factor on a LoRA adapter: alpha/r, alpha"},
	}
}

// trainingFields say how it is trained, and where.
func (c *Config) trainingFields() []field {
	return []field{
		{"batch_size", &c.BatchSize, size(1), fixed, "sequences in a micro-batch"},
		{"gradient_accumulation_steps", &c.GradientAccumulationSteps, size(1), fixed, "micro-batches in a step"},
		{"learning_rate", &c.LearningRate, positive(), fixed, "highest learning rate"},
		{"max_iters", &c.MaxIters, size(0), free, "steps to train"},
		{"optimizer", &c.Optimizer, oneOf("adamw", "sgd"), fixed, "optimizer: adamw, sgd"},
		{"weight_decay", &c.WeightDecay, nonNegative(), fixed, "weight decay, on matrices"},
		{"beta1", &c.Beta1, fraction(), fixed, "AdamW's decay of the gradient's mean, or SGD's momentum"},
		{"beta2", &c.Beta2, fraction(), fixed, "AdamW's decay of the gradient's mean square"},
		{"grad_clip", &c.GradClip, nonNegative(), fixed, "largest global norm of the gradient; 0 is no clipping"},
		{"decay_lr", &c.DecayLR, anything(), fixed, "warm up, then decay the learning rate along a cosine"},
		{"warmup_iters", &c.WarmupIters, size(0), fixed, "steps of warm-up"},
		{"lr_decay_iters", &c.LRDecayIters, size(0), fixed, "step at which the learning rate reaches min_lr"},
		{"min_lr", &c.MinLR, nonNegative(), fixed, "lowest learning rate after warm-up"},
		{"eval_interval", &c.EvalInterval, size(1), free, "steps between evaluations"},
		{"eval_iters", &c.EvalIters, size(1), free, "batches of an evaluation"},
		{"log_interval", &c.LogInterval, size(1), free, "steps between log lines"},
		{"seed", &c.Seed, domain{want: "a whole number, 0 to 18446744073709551615"}, fixed, "seed of every random choice"},
		{"out_dir", &c.OutDir, anything(), free, "directory of the run's files"},
		{"threads", &c.Threads, upTo(4096), free, "threads of the kernels; 0 is one per processor"},
		{"kernels", &c.Kernels, anything(), fixed, "use kernels; false builds the spelled stock operations"},
		{"recompute", &c.Recompute, anything(), free, "compute a block's activations again in the backward pass: less memory, more time, the same bits"},
	}
}

// String returns the field's value as a flag would write it.
func (f field) String() string {
	switch p := f.value.(type) {
	case *int:
		return strconv.Itoa(*p)
	case *uint64:
		return strconv.FormatUint(*p, 10)
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *bool:
		return strconv.FormatBool(*p)
	case *string:
		return *p
	case *[]string:
		return strings.Join(*p, ",")
	}
	return ""
}

// check returns whether the field's value lies in its domain.
func (f field) check() bool {
	switch p := f.value.(type) {
	case *int:
		return f.domain.has == nil || f.domain.has(float64(*p))
	case *float64:
		return f.domain.has == nil || f.domain.has(*p)
	case *string: // empty means the usual
		return f.domain.names == nil || *p == "" || slices.Contains(f.domain.names, *p)
	}
	return true
}
