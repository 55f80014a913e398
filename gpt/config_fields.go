package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
)

// fields binds the whole table to c. The order is that of the JSON.
func (c *Config) fields() field.List { return append(c.networkFields(), c.trainingFields()...) }

// networkFields say what the network computes.
func (c *Config) networkFields() field.List {
	return slices.Concat(c.sizeFields(), c.partFields(), c.attentionFields())
}

// partFields name the variants.
func (c *Config) partFields() field.List {
	part := func(name string, value *string, known []string, what string) field.Field {
		return field.Fixed(name, value, field.OneOf(known...), what+": "+strings.Join(known, ", "))
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
		field.Fixed("window", &c.Window, field.Size(0), "tokens that a query sees in attention in a window, itself included"),
		field.Fixed("dilation", &c.Dilation, field.Size(0), "dilated, longformer: distance of the keys that the last head sees; 0 is 1, none left out"),
		field.Fixed("global_tokens", &c.GlobalTokens, field.Size(0), "bigbird, dilated, longformer: first tokens that everybody sees"),
		field.Fixed("random_keys", &c.RandomKeys, field.Size(0), "bigbird: random keys of a query"),
		field.Fixed("latent_size", &c.LatentSize, field.Size(0), "mla: size of the latent that keys and values are made of; 0 is n_embd/4"),
		field.Fixed("q_latent_size", &c.QLatentSize, field.Size(0), "mla_rope: size of the latent that queries are made of; 0 is n_embd/2"),
		field.Fixed("rope_size", &c.RopeSize, field.Size(0), "mla_rope: size of the part of a query that is turned; 0 is half of qk_size, made even"),
	}
}

// sizeFields are the sizes of the network and what applies to all of it.
func (c *Config) sizeFields() field.List {
	return field.List{
		field.Fixed("block_size", &c.BlockSize, field.Size(1), "context length in tokens"),
		field.Fixed("vocab_size", &c.VocabSize, field.Size(1), "vocabulary; 0 takes it from the text"),
		field.Fixed("n_layer", &c.NLayer, field.Size(1), "transformer blocks"),
		field.Fixed("n_head", &c.NHead, field.Size(1), "attention heads of a block"),
		field.Fixed("n_embd", &c.NEmbd, field.Size(1), "width of the embeddings"),
		field.Fixed("dropout", &c.Dropout, field.Fraction(), "probability of dropping a value while training"),
		field.Fixed("bias", &c.Bias, field.Any(), "biases in linear layers and layer normalisations"),
		field.Fixed("qk_size", &c.QKSize, field.Size(0), "query and key size of a head; 0 is n_embd/n_head"),
		field.Fixed("v_size", &c.VSize, field.Size(0), "value size of a head; 0 is n_embd/n_head"),
		field.Fixed("n_inner", &c.NInner, field.Size(0), "hidden width of the MLP; 0 is 4·n_embd"),
		field.Fixed("eps", &c.Eps, field.Fraction(), "epsilon of the normalisation; 0 is 1e-5"),
		field.Fixed("rope_theta", &c.RopeTheta, field.NonNegative(), "base of the rotary positions' frequencies; 0 is 10000"),
		field.Fixed("lora_r", &c.LoraR, field.Size(0), "rank of the LoRA adapters; 0 is none"),
		field.Fixed("lora_alpha", &c.LoraAlpha, field.NonNegative(), "alpha of the LoRA adapters; 0 is lora_r"),
		field.Fixed("lora_targets", &c.LoraTargets, field.Any(), "comma-separated endings of the adapted layers' names, such as c_attn,lm_head; empty is all"),
		field.Fixed("lora_scale", &c.LoraScale, field.OneOf("alpha/r", "alpha"), "factor on a LoRA adapter: alpha/r, alpha"),
	}
}

// trainingFields say how it is trained, and where.
func (c *Config) trainingFields() field.List {
	return field.List{
		field.Fixed("batch_size", &c.BatchSize, field.Size(1), "sequences in a micro-batch"),
		field.Fixed("gradient_accumulation_steps", &c.GradientAccumulationSteps, field.Size(1), "micro-batches in a step"),
		field.Fixed("learning_rate", &c.LearningRate, field.Positive(), "highest learning rate"),
		field.Free("max_iters", &c.MaxIters, field.Size(0), "steps to train"),
		field.Fixed("optimizer", &c.Optimizer, field.OneOf("adamw", "sgd"), "optimizer: adamw, sgd"),
		field.Fixed("weight_decay", &c.WeightDecay, field.NonNegative(), "weight decay, on matrices"),
		field.Fixed("beta1", &c.Beta1, field.Fraction(), "AdamW's decay of the gradient's mean, or SGD's momentum"),
		field.Fixed("beta2", &c.Beta2, field.Fraction(), "AdamW's decay of the gradient's mean square"),
		field.Fixed("grad_clip", &c.GradClip, field.NonNegative(), "largest global norm of the gradient; 0 is no clipping"),
		field.Fixed("decay_lr", &c.DecayLR, field.Any(), "warm up, then decay the learning rate along a cosine"),
		field.Fixed("warmup_iters", &c.WarmupIters, field.Size(0), "steps of warm-up"),
		field.Fixed("lr_decay_iters", &c.LRDecayIters, field.Size(0), "step at which the learning rate reaches min_lr"),
		field.Fixed("min_lr", &c.MinLR, field.NonNegative(), "lowest learning rate after warm-up"),
		field.Free("eval_interval", &c.EvalInterval, field.Size(1), "steps between evaluations"),
		field.Free("eval_iters", &c.EvalIters, field.Size(1), "batches of an evaluation"),
		field.Free("log_interval", &c.LogInterval, field.Size(1), "steps between log lines"),
		field.Fixed("seed", &c.Seed, field.Uint64(), "seed of every random choice"),
		field.Free("out_dir", &c.OutDir, field.Any(), "directory of the run's files"),
		field.Free("threads", &c.Threads, field.UpTo(4096), "threads of the kernels; 0 is one per processor"),
		field.Fixed("kernels", &c.Kernels, field.Any(), "use kernels; false builds the spelled stock operations"),
		field.Free("recompute", &c.Recompute, field.Any(), "compute a block's activations again in the backward pass: less memory, more time, the same bits"),
	}
}
