package published

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// gptNeoX returns the family of GPT-NeoX (Black et al. 2022), such as Pythia: attention and MLP in parallel, rotary
// positions of a quarter of the features, and one matrix in which every head has its queries, keys and values together.
func gptNeoX() family {
	return family{
		modelType:     "gpt_neox",
		architectures: []string{"GPTNeoXForCausalLM"},
		rows: []row{
			size("vocab_size", 50_432, "vocab_size"),
			size("max_position_embeddings", 2048, "block_size"),
			size("hidden_size", 6144, "n_embd"),
			size("num_hidden_layers", 44, "n_layer"),
			size("num_attention_heads", 64, "n_head"),
			size("intermediate_size", 24_576, "n_inner"),
			{key: "hidden_act", value: "gelu", fields: []string{"activation"}, names: activationNames},
			{key: "use_parallel_residual", value: true, fields: []string{"block"}, names: parallelBlocks},
			number("rotary_pct", 0.25, field.Positive()).byLink(),
			number("rotary_emb_base", 10_000, field.Positive(), "rope_theta"),
			object("rope_scaling"), object("rope_parameters").onlyRead(),
			number("layer_norm_eps", 1e-5, field.ProperFraction(), "eps"),
			{key: "tie_word_embeddings", value: false, fields: []string{"head"}, names: unbiasedHeads},
			fixed("attention_bias", true),
		},
		same:      []setting{{"position", "rope"}, {"bias", "true"}, {"attention", "causal"}},
		links:     []link{rotaryKeys("rotary_emb_base", "rotary_pct")},
		harmless:  map[string][]string{onlyTraining: {"hidden_dropout"}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names: names{
			prefix: "gpt_neox.", written: "gpt_neox.", head: "embed_out.weight",
			rules: neoXRules(),
			buffers: []buffer{
				{"layers.", ".attention.bias"}, {"layers.", ".attention.masked_bias"}, {"", "rotary_emb.inv_freq"},
			},
		},
	}
}

// parallelBlocks returns the blocks that use_parallel_residual chooses from.
func parallelBlocks([]parts.Activation) []name {
	return []name{{"true", "parallel_two"}, {"false", "pre"}}
}

// unbiasedHeads returns the heads that tie_word_embeddings chooses from in a network with biases.
func unbiasedHeads([]parts.Activation) []name {
	return []name{{"true", "tied"}, {"false", "linear_no_bias"}}
}

// neoXRules returns the names of GPT-NeoX's tensors.
func neoXRules() []rule {
	const block = "layers.#."
	list := []rule{
		tensor("wte.weight", "embed_in.weight"),
		matrix("h.#.attn.c_attn.weight", block+"attention.query_key_value.weight").of(interleaved),
		tensor("h.#.attn.c_attn.bias", block+"attention.query_key_value.bias").of(interleaved),
		matrix(HeadWeight, "embed_out.weight"),
	}
	list = append(list, affine("h.#.attn.c_proj", block+"attention.dense")...)
	list = append(list, affine("h.#.mlp.c_fc", block+"mlp.dense_h_to_4h")...)
	list = append(list, affine("h.#.mlp.c_proj", block+"mlp.dense_4h_to_h")...)
	list = append(list, norm("h.#.ln_1", block+"input_layernorm")...)
	list = append(list, norm("h.#.ln_2", block+"post_attention_layernorm")...)
	return append(list, norm("ln_f", "final_layer_norm")...)
}

// affine returns the rules of a matrix that is (out, in) and its bias.
func affine(ours, theirs string) []rule {
	return []rule{matrix(ours+".weight", theirs+".weight"), tensor(ours+".bias", theirs+".bias")}
}

// threeProjections returns the rules of the three matrices of queries, keys and values below a name, and their biases.
func threeProjections(attention string) []rule {
	return []rule{
		matrix("h.#.attn.c_attn.weight", attention+"q_proj.weight").of(queries),
		matrix("h.#.attn.c_attn.weight", attention+"k_proj.weight").of(keys),
		matrix("h.#.attn.c_attn.weight", attention+"v_proj.weight").of(values),
		tensor("h.#.attn.c_attn.bias", attention+"q_proj.bias").of(queries),
		tensor("h.#.attn.c_attn.bias", attention+"k_proj.bias").of(keys),
		tensor("h.#.attn.c_attn.bias", attention+"v_proj.bias").of(values),
	}
}

// norm returns the rules of a norm.
func norm(ours, theirs string) []rule {
	return []rule{tensor(ours+".weight", theirs+".weight"), tensor(ours+".bias", theirs+".bias")}
}
