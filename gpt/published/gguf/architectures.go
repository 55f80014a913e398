package gguf

import (
	"slices"
	"strings"
)

// architecture describes how a family is stored in GGUF files, and under which names in Hugging Face's folders.
type architecture struct {
	name    string   // of general.architecture
	kind    string   // model_type; the name if empty
	experts bool     // files of the family have expert_count
	keys    []pair   // keys after the name and a dot, and keys of config.json
	tensors []pair   // names of tensors, # standing for the number of a block and @ for the number of an expert
	fixed   []Key    // keys of all files of the family, which no key of config.json expresses
	implied object   // keys of config.json that all networks of the family have
	pairs   bool     // rows of queries and keys are in adjacent pairs of a rotation, not in halves of a head
	split   bool     // rows of attn_qkv are [q | k | v], and not each head's together
	columns bool     // matrices of the folder are (in, out)
	head    bool     // files have a matrix of the head, also if it has the numbers of the embedding
	gains   bool     // the folder's gains of norms are the file's minus 1
	share   string   // key of config.json with the share of the features that rotate
	window  int      // blocks after which one has no window, if files do not say it
	scaled  []string // kinds of rotary scaling that files express, in addition to linear
	biases  []pair   // tensors whose presence sets a key of config.json to true
}

// modelType returns the model_type of the folder.
func (a architecture) modelType() string {
	if a.kind == "" {
		return a.name
	}
	return a.kind
}

// pair is a name in a GGUF file and in a folder.
type pair struct{ ours, theirs string }

// architectures returns the families that GGUF files hold. If several have the same name, those with experts come last.
func architectures() []architecture {
	rms, mean := "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"
	llama := append(llamaKeys(), pair{rms, "rms_norm_eps"})
	window := pair{"attention.sliding_window", "sliding_window"}
	experts := func(count string) []pair {
		return []pair{{"expert_count", count}, {"expert_used_count", "num_experts_per_tok"}}
	}
	scaled := []string{"llama3", "yarn"}
	gemma2 := append(slices.Clone(llama), window, pair{"attn_logit_softcapping", "attn_logit_softcapping"},
		pair{"final_logit_softcapping", "final_logit_softcapping"})
	gemma3 := append(slices.Clone(llama), window, pair{"rope.freq_base_swa", "rope_local_base_freq"})
	factors := append(slices.Clone(llama), pair{"embedding_scale", "embedding_multiplier"},
		pair{"attention.scale", "attention_multiplier"}, pair{"residual_scale", "residual_multiplier"},
		pair{"logit_scale", "logits_scaling"})
	partial := append(llamaKeys(), pair{mean, "layer_norm_eps"})
	return []architecture{
		{
			name: "llama", keys: llama, tensors: append(llamaTensors(), llamaBiases()...), pairs: true, scaled: scaled,
			biases: []pair{{"blk.0.attn_output.bias", "attention_bias"}, {"blk.0.ffn_down.bias", "mlp_bias"}},
		},
		{name: "qwen2", keys: llama, tensors: llamaTensors(), scaled: scaled},
		{name: "qwen3", keys: llama, tensors: llamaTensors(), scaled: scaled},
		{
			name: "smollm3", keys: llama, tensors: llamaTensors(), pairs: true, scaled: scaled,
			implied: object{"no_rope_layer_interval": 4},
		},
		{
			name: "olmo", keys: llamaKeys(), tensors: llamaTensors(), pairs: true,
			fixed: []Key{{mean, OfFloat(1e-5)}},
		},
		{name: "olmo2", keys: llama, tensors: normsAfter(llamaTensors()), scaled: scaled, head: true},
		{name: "gemma", keys: llama, tensors: llamaTensors(), gains: true},
		{name: "gemma2", keys: gemma2, tensors: fourNorms(llamaTensors()), gains: true, window: 2},
		{
			name: "gemma3", kind: "gemma3_text", keys: gemma3, tensors: fourNorms(llamaTensors()), gains: true,
			window: 6,
		},
		{name: "granite", keys: factors, tensors: llamaTensors(), pairs: true},
		{
			name: "arcee", keys: llama, tensors: without(llamaTensors(), "ffn_gate"), pairs: true, scaled: scaled,
			implied: object{"hidden_act": "relu2"},
		},
		{
			name: "command-r", kind: "cohere", tensors: llamaTensors(),
			keys: append(slices.Clone(partial), pair{"logit_scale", "logit_scale"}),
		},
		{
			name: "starcoder2", tensors: renamed(biased(llamaTensors()), "mlp.up_proj", "mlp.c_fc", "mlp.down_proj",
				"mlp.c_proj"), keys: append(llamaKeys(), pair{mean, "norm_epsilon"}),
		},
		{
			name: "phi2", kind: "phi", keys: partial, share: "partial_rotary_factor",
			tensors: renamed(biased(llamaTensors()), "self_attn.o_proj", "self_attn.dense", "mlp.up_proj", "mlp.fc1",
				"mlp.down_proj", "mlp.fc2", "model.norm", "model.final_layernorm"),
		},
		{
			name: "phi3", keys: append(without(llama, "key_length"), window), share: "partial_rotary_factor",
			tensors: fused(llamaTensors()),
		},
		gptNeoX(mean),
		gpt2(mean),
		bigCode(mean),
		{
			name: "llama", kind: "mixtral", experts: true, pairs: true,
			keys:    append(slices.Clone(llama), experts("num_local_experts")...),
			tensors: ofExperts("block_sparse_moe", "w1", "w3", "w2"),
		},
		{
			name: "qwen3moe", kind: "qwen3_moe", experts: true, scaled: scaled,
			keys: append(append(without(llama, "feed_forward_length"), experts("num_experts")...),
				pair{"expert_feed_forward_length", "moe_intermediate_size"}),
			tensors: ofExperts("mlp", "gate_proj", "up_proj", "down_proj"), implied: object{"norm_topk_prob": true},
		},
		{
			name: "olmoe", experts: true, head: true, keys: append(slices.Clone(llama), experts("num_experts")...),
			tensors: ofExperts("mlp", "gate_proj", "up_proj", "down_proj"),
		},
	}
}

// llamaKeys returns the keys of LLaMA and its relatives without the key of ε.
func llamaKeys() []pair {
	return []pair{
		{"vocab_size", "vocab_size"}, {"context_length", "max_position_embeddings"},
		{"embedding_length", "hidden_size"}, {"block_count", "num_hidden_layers"},
		{"feed_forward_length", "intermediate_size"}, {"attention.head_count", "num_attention_heads"},
		{"attention.head_count_kv", "num_key_value_heads"}, {"attention.key_length", "head_dim"},
		{"rope.freq_base", "rope_theta"},
	}
}

func llamaTensors() []pair {
	const block, attention = "model.layers.#.", "model.layers.#.self_attn."
	return []pair{
		{tokensName, "model.embed_tokens.weight"}, {"output_norm.weight", "model.norm.weight"},
		{headName, "lm_head.weight"},
		{"blk.#.attn_norm.weight", block + "input_layernorm.weight"},
		{"blk.#.attn_q.weight", attention + "q_proj.weight"}, {"blk.#.attn_q.bias", attention + "q_proj.bias"},
		{"blk.#.attn_k.weight", attention + "k_proj.weight"}, {"blk.#.attn_k.bias", attention + "k_proj.bias"},
		{"blk.#.attn_v.weight", attention + "v_proj.weight"}, {"blk.#.attn_v.bias", attention + "v_proj.bias"},
		{"blk.#.attn_q_norm.weight", attention + "q_norm.weight"},
		{"blk.#.attn_k_norm.weight", attention + "k_norm.weight"},
		{"blk.#.attn_output.weight", attention + "o_proj.weight"},
		{"blk.#.ffn_norm.weight", block + "post_attention_layernorm.weight"},
		{"blk.#.ffn_gate.weight", block + "mlp.gate_proj.weight"},
		{"blk.#.ffn_up.weight", block + "mlp.up_proj.weight"},
		{"blk.#.ffn_down.weight", block + "mlp.down_proj.weight"},
	}
}

// llamaBiases returns the biases of LLaMA's output projection and MLP. llamaTensors has the biases of q, k and v.
func llamaBiases() []pair {
	const block = "model.layers.#."
	return []pair{
		{"blk.#.attn_output.bias", block + "self_attn.o_proj.bias"},
		{"blk.#.ffn_gate.bias", block + "mlp.gate_proj.bias"},
		{"blk.#.ffn_up.bias", block + "mlp.up_proj.bias"},
		{"blk.#.ffn_down.bias", block + "mlp.down_proj.bias"},
	}
}

// without returns a list without the names that contain a word.
func without(list []pair, word string) []pair {
	return slices.DeleteFunc(slices.Clone(list), func(p pair) bool { return strings.Contains(p.ours, word) })
}

// renamed returns a list in whose folder's names the first of every two words is the second.
func renamed(list []pair, words ...string) []pair {
	r := strings.NewReplacer(words...)
	for i, p := range list {
		list[i].theirs = r.Replace(p.theirs)
	}
	return list
}

// biased returns a list of layers with biases, without gates.
func biased(list []pair) (all []pair) {
	for _, p := range without(without(list, "ffn_gate"), ".bias") {
		if all = append(all, p); p.ours != tokensName {
			bias := strings.NewReplacer(".weight", ".bias")
			all = append(all, pair{bias.Replace(p.ours), bias.Replace(p.theirs)})
		}
	}
	return all
}

// normsAfter returns LLaMA's tensors with norms after attention and MLP instead of before them.
func normsAfter(list []pair) []pair {
	return append(without(without(list, "attn_norm"), "ffn_norm"),
		pair{"blk.#.post_attention_norm.weight", "model.layers.#.post_attention_layernorm.weight"},
		pair{"blk.#.post_ffw_norm.weight", "model.layers.#.post_feedforward_layernorm.weight"})
}

// fourNorms returns LLaMA's tensors with norms before and after attention and MLP.
func fourNorms(list []pair) []pair {
	return append(without(list, "ffn_norm"),
		pair{"blk.#.post_attention_norm.weight", "model.layers.#.post_attention_layernorm.weight"},
		pair{"blk.#.ffn_norm.weight", "model.layers.#.pre_feedforward_layernorm.weight"},
		pair{"blk.#.post_ffw_norm.weight", "model.layers.#.post_feedforward_layernorm.weight"})
}

// fused returns LLaMA's tensors with one matrix for queries, keys and values, and one for both inputs of the MLP.
func fused(list []pair) []pair {
	for _, name := range []string{"attn_q.", "attn_k.", "attn_v.", "ffn_gate", "ffn_up"} {
		list = without(list, name)
	}
	return append(list, pair{"blk.#.attn_qkv.weight", "model.layers.#.self_attn.qkv_proj.weight"},
		pair{"blk.#.ffn_up.weight", "model.layers.#.mlp.gate_up_proj.weight"})
}

// ofExperts returns LLaMA's tensors with the router and the experts of a module. Older files have a matrix for each
// expert.
func ofExperts(module, gate, up, down string) []pair {
	theirs := "model.layers.#." + module + "."
	list := append(without(llamaTensors(), "blk.#.ffn_"),
		pair{"blk.#.ffn_norm.weight", "model.layers.#.post_attention_layernorm.weight"},
		pair{routerName, theirs + "gate.weight"})
	for _, p := range []pair{{"ffn_gate", gate}, {"ffn_up", up}, {"ffn_down", down}} {
		expert := theirs + "experts.@." + p.theirs + ".weight"
		list = append(list, pair{"blk.#." + p.ours + "_exps.@.weight", expert},
			pair{"blk.#." + p.ours + ".@.weight", expert})
	}
	return list
}

// gpt2 returns GPT-2.
func gpt2(mean string) architecture {
	keys := []pair{
		{"vocab_size", "vocab_size"}, {"context_length", "n_positions"}, {"embedding_length", "n_embd"},
		{"block_count", "n_layer"}, {"feed_forward_length", "n_inner"}, {"attention.head_count", "n_head"},
		{mean, "layer_norm_epsilon"},
	}
	tensors := []pair{
		{tokensName, "wte.weight"}, {positionsName, "wpe.weight"}, {headName, "lm_head.weight"},
		{"output_norm.weight", "ln_f.weight"}, {"output_norm.bias", "ln_f.bias"},
	}
	for _, p := range []pair{
		{"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn"}, {"attn_output", "attn.c_proj"}, {"ffn_norm", "ln_2"},
		{"ffn_up", "mlp.c_fc"}, {"ffn_down", "mlp.c_proj"},
	} {
		for _, end := range []string{".weight", ".bias"} {
			tensors = append(tensors, pair{"blk.#." + p.ours + end, "h.#." + p.theirs + end})
		}
	}
	return architecture{name: "gpt2", columns: true, keys: keys, tensors: tensors}
}

// bigCode returns the first StarCoder, a GPT-2 with one head of keys and values, whose matrices are (out, in).
func bigCode(mean string) architecture {
	a := gpt2(mean)
	for i, p := range a.tensors {
		if p.ours != headName {
			a.tensors[i].theirs = "transformer." + p.theirs
		}
	}
	a.name, a.kind, a.columns = "starcoder", "gpt_bigcode", false
	a.fixed = []Key{{"attention.head_count_kv", OfInt(1)}}
	return a
}

// gptNeoX returns GPT-NeoX, such as Pythia. Its activation, of which files say nothing, is the exact GELU.
func gptNeoX(mean string) architecture {
	tensors := []pair{
		{tokensName, "gpt_neox.embed_in.weight"}, {headName, "embed_out.weight"},
		{"output_norm.weight", "gpt_neox.final_layer_norm.weight"},
		{"output_norm.bias", "gpt_neox.final_layer_norm.bias"},
	}
	for _, p := range []pair{
		{"attn_norm", "input_layernorm"}, {"attn_qkv", "attention.query_key_value"}, {"attn_output", "attention.dense"},
		{"ffn_norm", "post_attention_layernorm"}, {"ffn_up", "mlp.dense_h_to_4h"}, {"ffn_down", "mlp.dense_4h_to_h"},
	} {
		for _, end := range []string{".weight", ".bias"} {
			tensors = append(tensors, pair{"blk.#." + p.ours + end, "gpt_neox.layers.#." + p.theirs + end})
		}
	}
	keys := renamed(without(without(llamaKeys(), "head_count_kv"), "key_length"), "rope_theta", "rotary_emb_base")
	return architecture{
		name: "gptneox", kind: "gpt_neox", tensors: tensors, split: true, head: true, share: "rotary_pct",
		keys: append(keys, pair{mean, "layer_norm_eps"}, pair{"use_parallel_residual", "use_parallel_residual"}),
	}
}
