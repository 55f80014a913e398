package layout

import "strings"

// LLaMA returns the names of LLaMA, and of Qwen2, which also has biases of queries, keys and values. Matrices are (out,
// in). Older files contain the frequencies of rotary positions.
func LLaMA() Names {
	const block, attention = "layers.#.", "layers.#.self_attn."
	return Names{
		prefix: "model.", written: "model.",
		rules: []rule{
			{"wte.weight", "embed_tokens.weight", false, nil},
			{"h.#.ln_1.weight", block + "input_layernorm.weight", false, nil},
			{"h.#.attn.c_attn.weight", attention + "q_proj.weight", true, queries},
			{"h.#.attn.c_attn.weight", attention + "k_proj.weight", true, keys},
			{"h.#.attn.c_attn.weight", attention + "v_proj.weight", true, values},
			{"h.#.attn.c_attn.bias", attention + "q_proj.bias", false, queries},
			{"h.#.attn.c_attn.bias", attention + "k_proj.bias", false, keys},
			{"h.#.attn.c_attn.bias", attention + "v_proj.bias", false, values},
			{"h.#.attn.c_proj.weight", attention + "o_proj.weight", true, nil},
			{"h.#.ln_2.weight", block + "post_attention_layernorm.weight", false, nil},
			{"h.#.mlp.c_gate.weight", block + "mlp.gate_proj.weight", true, nil},
			{"h.#.mlp.c_fc.weight", block + "mlp.up_proj.weight", true, nil},
			{"h.#.mlp.c_proj.weight", block + "mlp.down_proj.weight", true, nil},
			{"ln_f.weight", "norm.weight", false, nil},
			{HeadWeight, HeadWeight, true, nil},
		},
		skipped: func(name string) bool { return strings.HasSuffix(name, "rotary_emb.inv_freq") },
	}
}
