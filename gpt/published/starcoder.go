package published

import "github.com/pedestrian-ml/pedestrian/gpt/internal/field"

// starCoder2 returns the family of StarCoder 2 (Lozhkov et al. 2024): a GPT-2 with rotary positions, fewer heads of
// keys and values than of queries, and optionally a window.
func starCoder2() family {
	sizes := llamaSizes{
		vocabulary: 49_152, context: 4096, inner: 12_288, width: 3072, blocks: 30, heads: 24, groups: 2,
	}
	rows := without(llamaRows(sizes), "hidden_act", "rms_norm_eps", "tie_word_embeddings")
	return family{
		modelType:     "starcoder2",
		architectures: []string{"Starcoder2ForCausalLM"},
		rows: append(rows, anyJSON("sliding_window", "null"),
			number("norm_epsilon", 1e-5, field.ProperFraction(), "eps"),
			row{key: "hidden_act", value: "gelu_pytorch_tanh", fields: []string{"activation"}, names: activationNames},
			row{key: "tie_word_embeddings", value: true, fields: []string{"head"}, names: unbiasedHeads},
			fixed("use_bias", true), fixed("norm_type", "layer_norm").onlyRead(),
			fixed("mlp_type", "default").onlyRead(), fixed("scale_attn_weights", true).onlyRead()),
		same:  []setting{{"position", "rope"}, {"norm", "layernorm"}, {"bias", "true"}},
		links: []link{sharedKeys(), windows(0), rotary()},
		harmless: map[string][]string{
			onlyTraining:                 {"residual_dropout", "embedding_dropout"},
			"norm_epsilon is ε instead":  {"layer_norm_epsilon"},
			"the precision of a softmax": {"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32"},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     names{prefix: "model.", written: "model.", rules: starCoder2Rules()},
	}
}

// starCoder2Rules returns the names of StarCoder 2's tensors.
func starCoder2Rules() []rule {
	const block = "layers.#."
	list := []rule{tensor("wte.weight", "embed_tokens.weight"), matrix(HeadWeight, HeadWeight)}
	list = append(list, threeProjections(block+"self_attn.")...)
	list = append(list, affine("h.#.attn.c_proj", block+"self_attn.o_proj")...)
	list = append(list, affine("h.#.mlp.c_fc", block+"mlp.c_fc")...)
	list = append(list, affine("h.#.mlp.c_proj", block+"mlp.c_proj")...)
	list = append(list, norm("h.#.ln_1", block+"input_layernorm")...)
	list = append(list, norm("h.#.ln_2", block+"post_attention_layernorm")...)
	return append(list, norm("ln_f", "norm")...)
}

// bigCode returns the family of the first StarCoder (Li et al. 2023): a GPT-2 whose queries share one head of keys and
// values. Its matrices are (out, in).
func bigCode() family {
	f := gpt2()
	rules := []rule{
		matrix("h.#.attn.c_attn.weight", "h.#.attn.c_attn.weight"),
		matrix("h.#.attn.c_proj.weight", "h.#.attn.c_proj.weight"),
		matrix("h.#.mlp.c_fc.weight", "h.#.mlp.c_fc.weight"),
		matrix("h.#.mlp.c_proj.weight", "h.#.mlp.c_proj.weight"),
	}
	rows := without(f.rows, "n_ctx", "activation_function", "scale_attn_by_inverse_layer_idx", "tie_word_embeddings")
	return family{
		modelType:     "gpt_bigcode",
		architectures: []string{"GPTBigCodeForCausalLM"},
		rows: append(rows,
			row{
				key: "activation_function", value: "gelu_pytorch_tanh", fields: []string{"activation"},
				names: activationNames,
			},
			row{key: "tie_word_embeddings", value: true, fields: []string{"head"}, names: unbiasedHeads},
			fixed("multi_query", true)),
		same: []setting{{"bias", "true"}, {"attention", "gqa"}, {"n_kv_head", "1"}},
		harmless: map[string][]string{
			"the precision of a softmax": {"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32"},
			"another program's memory": {"inference_runner", "validate_runner_input", "pre_allocate_kv_cache",
				"max_sequence_length", "max_batch_size", "pad_key_length"},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names: names{
			prefix: "transformer.", written: "transformer.", rules: append(f.names.rules, rules...),
			buffers: f.names.buffers,
		},
	}
}
