package published

import (
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// llama returns the family of LLaMA (Touvron et al. 2023): norms without a mean, gated MLPs, rotary positions, no
// biases, and optionally fewer heads of keys and values than of queries. Matrices are (out, in). Older files contain
// the frequencies of rotary positions.
func llama() Family {
	return Family{
		ModelType:     "llama",
		architectures: []string{"LlamaForCausalLM"},
		rows: append(llamaRows(32_000, 2048, 11_008),
			fixed("attention_bias", false), fixed("mlp_bias", false), fixed("use_sliding_window", false).onlyRead()),
		same: llamaSame(),
		read: func(data []byte, file, network field.List) error {
			groups, err := readLLaMA(data, file)
			if err != nil {
				return err
			}
			if groups != count(file, "num_attention_heads") {
				return parse(network, "attention", "gqa")
			}
			if err := parse(file, "num_key_value_heads", "0"); err != nil {
				return err
			}
			return parse(network, "attention", "causal")
		},
		write: func(file, network field.List) error {
			attention, _ := network.Find("attention")
			groups := count(file, "num_key_value_heads")
			if attention.String() == "gqa" && groups == count(file, "num_attention_heads") { // Read returns causal
				return attention.Parse("causal")
			}
			return writeLLaMA(file)
		},
		harmless: []string{"max_sequence_length"},
		constants: map[string]any{
			"initializer_range": 0.02, "rope_scaling": nil, "use_cache": true, "pretraining_tp": 1,
		},
		names: llamaNames(),
	}
}

// llamaRows returns the keys that LLaMA and Qwen2 share, with the defaults of a vocabulary, a context and an MLP.
func llamaRows(vocabulary, context, inner int) []row {
	return []row{
		size("vocab_size", vocabulary, "vocab_size"),
		size("max_position_embeddings", context, "block_size"),
		size("hidden_size", 4096, "n_embd"),
		size("intermediate_size", inner, "n_inner"),
		size("num_hidden_layers", 32, "n_layer"),
		size("num_attention_heads", 32, "n_head"),
		size("num_key_value_heads", 0, "n_kv_head").nullable(),
		size("head_dim", 0, "qk_size", "v_size").nullable(),
		{key: "hidden_act", value: "silu", fields: []string{"mlp"}, names: gatedMLPs},
		number("rms_norm_eps", 1e-6, field.Fraction(), "eps"),
		number("rope_theta", 10_000, field.Positive(), "rope_theta").nullable(),
		head(false),
		number("attention_dropout", 0, field.Fraction()).nullable(),
		fixed("layer_types", []string{}).nullable().onlyRead(),          // the kind of each block's attention
		number("partial_rotary_factor", 1, field.Positive()).onlyRead(), // rotated features of a head
	}
}

// llamaSame returns the parts that LLaMA and Qwen2 share.
func llamaSame() []setting { return []setting{{"position", "rope"}, {"norm", "rmsnorm"}} }

// gatedMLPs returns Hugging Face's names of the activation of a gated MLP.
func gatedMLPs([]parts.Activation) []name { return []name{{"silu", "swiglu"}, {"swish", "swiglu"}} }

// readLLaMA completes and checks the keys of a file of LLaMA or Qwen2. It returns the number of heads of keys and
// values.
func readLLaMA(data []byte, file field.List) (groups int, err error) {
	heads, width := count(file, "num_attention_heads"), count(file, "hidden_size")
	if groups = count(file, "num_key_value_heads"); groups == 0 {
		groups = heads
	}
	switch {
	case heads%groups != 0:
		return 0, errors.Errorf("num_key_value_heads: got %d, want a divisor of num_attention_heads %d", groups, heads)
	case count(file, "head_dim") == 0 && width%heads != 0:
		return 0, errors.Errorf("num_attention_heads: got %d, want a divisor of hidden_size %d", heads, width)
	}
	if err := checkLayerTypes(file); err != nil {
		return 0, err
	}
	if err := readRope(data, file); err != nil {
		return 0, err
	}
	return groups, parse(file, "num_key_value_heads", strconv.Itoa(groups))
}

// checkLayerTypes returns an error unless all blocks have the same attention.
func checkLayerTypes(file field.List) error {
	kinds, _ := file.Find("layer_types")
	if kinds.String() == "" {
		return nil
	}
	list := strings.Split(kinds.String(), ",")
	for _, kind := range list {
		if kind != "full_attention" {
			return errors.Errorf("layer_types: got %s, want full_attention", field.Clip(kind))
		}
	}
	if n, blocks := len(list), count(file, "num_hidden_layers"); n != blocks {
		return errors.Errorf("layer_types: got %d, want one for each of num_hidden_layers %d", n, blocks)
	}
	return kinds.Parse("")
}

// writeLLaMA completes the keys of a file of LLaMA or Qwen2.
func writeLLaMA(file field.List) error {
	if heads, _ := file.Find("num_attention_heads"); count(file, "num_key_value_heads") == 0 {
		return parse(file, "num_key_value_heads", heads.String())
	}
	return nil
}

// llamaNames returns the names of the tensors of LLaMA and Qwen2. Qwen2 has biases of queries, keys and values.
func llamaNames() names {
	const block, attention = "layers.#.", "layers.#.self_attn."
	return names{
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
		buffers: []buffer{{"", "rotary_emb.inv_freq"}},
	}
}
