package published

import "github.com/pedestrian-ml/pedestrian/gpt/internal/field"

// gpt2 returns the family of GPT-2 (Radford et al. 2019). The names of its tensors are also ours. Its matrices are (in,
// out) as here, except the head's. Older files contain the causal mask of every block.
func gpt2() family {
	return family{
		modelType:     "gpt2",
		biases:        true,
		architectures: []string{"GPT2LMHeadModel"},
		rows: []row{
			size("vocab_size", 50257, "vocab_size"),
			size("n_positions", 1024, "block_size"),
			size("n_ctx", 0, "block_size"),
			size("n_embd", 768, "n_embd"),
			size("n_layer", 12, "n_layer"),
			size("n_head", 12, "n_head"),
			inner("n_inner"),
			{key: "activation_function", value: "gelu_new", fields: []string{"activation"}, names: activationNames},
			number("resid_pdrop", 0.1, field.Fraction(), "dropout"),
			number("embd_pdrop", 0.1, field.Fraction(), "dropout"),
			number("attn_pdrop", 0.1, field.Fraction(), "dropout"),
			number("layer_norm_epsilon", 1e-5, field.ProperFraction(), "eps"),
			tie(true),
			fixed("scale_attn_weights", true), // scores / √dρ
			fixed("scale_attn_by_inverse_layer_idx", false), // scores / (layer + 1)
			fixed("add_cross_attention", false),
		},
		same:      []setting{{"bias", "true"}},
		harmless:  map[string][]string{"keys of OpenAI's first GPT": {"n_special", "predict_special_tokens"}},
		constants: map[string]any{"initializer_range": 0.02},
		names: names{
			prefix:  "transformer.",
			rules:   []rule{{ours: HeadWeight, theirs: HeadWeight, turned: true}},
			buffers: []buffer{{"h.", ".attn.bias"}, {"h.", ".attn.masked_bias"}},
		},
	}
}
