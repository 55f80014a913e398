package published

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// llama returns the family of LLaMA (Touvron et al. 2023; Llama Team 2024): norms without a mean, gated MLPs, rotary
// positions, no biases, and optionally fewer heads of keys and values than of queries. Matrices are (out, in). Older
// files contain the frequencies of rotary positions.
func llama() family {
	return family{
		modelType:     "llama",
		architectures: []string{"LlamaForCausalLM"},
		rows: append(llamaRows(llamaSizes{vocabulary: 32_000, context: 2048, inner: 11_008}),
			attentionBias(), mlpBias(), fixed("use_sliding_window", false).onlyRead()),
		same:     llamaSame(),
		links:    []link{sharedKeys(), fullLayers(), rotary(), biased(), {readPlain, writePlain}},
		harmless: map[string][]string{"the context, which max_position_embeddings gives": {"max_sequence_length"}},
		constants: map[string]any{
			"initializer_range": 0.02, "use_cache": true, "pretraining_tp": 1,
		},
		names: llamaNames(),
	}
}

// readPlain sets attention causal if no heads share keys and values, otherwise gqa.
func readPlain(file, network field.List) error {
	if count(file, "num_key_value_heads") != count(file, "num_attention_heads") {
		return parse(network, "attention", "gqa")
	}
	if err := parse(file, "num_key_value_heads", "0"); err != nil {
		return err
	}
	return parse(network, "attention", "causal")
}

// writePlain replaces attention gqa by causal if Read will return that.
func writePlain(file, network field.List) error {
	attention, _ := network.Find("attention")
	same := count(file, "num_key_value_heads") == count(file, "num_attention_heads")
	if attention.String() == "gqa" && same {
		return attention.Parse("causal")
	}
	return nil
}

// llamaSizes holds the defaults in which relatives of LLaMA differ.
type llamaSizes struct {
	vocabulary, context, inner int
	width, blocks, heads       int     // 4096, 32 and 32 if 0
	groups, head               int     // heads of keys and values, and features of a head; 0 derives them
	eps, theta                 float64 // 1e-6 and 10,000 if 0
	tied                       bool
	activation                 string // the key of the MLP's activation; hidden_act if empty
}

// llamaRows returns the keys that LLaMA and its relatives share.
func llamaRows(s llamaSizes) []row {
	head := size("head_dim", s.head, "qk_size", "v_size")
	if s.head == 0 { // otherwise null says nothing
		head = head.nullable()
	}
	return []row{
		size("vocab_size", s.vocabulary, "vocab_size"),
		size("max_position_embeddings", s.context, "block_size"),
		size("hidden_size", cmp.Or(s.width, 4096), "n_embd"),
		size("intermediate_size", s.inner, "n_inner"),
		size("num_hidden_layers", cmp.Or(s.blocks, 32), "n_layer"),
		size("num_attention_heads", cmp.Or(s.heads, 32), "n_head"),
		size("num_key_value_heads", s.groups, "n_kv_head").nullable(),
		head,
		{key: cmp.Or(s.activation, "hidden_act"), value: "silu", fields: []string{"mlp"}, names: gatedMLPs},
		number("rms_norm_eps", cmp.Or(s.eps, 1e-6), field.ProperFraction(), "eps"),
		number("rope_theta", cmp.Or(s.theta, 10_000), field.Positive(), "rope_theta"),
		object("rope_scaling"),
		object("rope_parameters").onlyRead(),
		tie(s.tied),
		object("layer_types").onlyRead(), // the kind of each block's attention
		number("partial_rotary_factor", 1, field.Positive()).onlyRead(), // rotated features of a head
	}
}

// llamaSame returns the parts that LLaMA and its relatives share.
func llamaSame() []setting { return []setting{{"position", "rope"}, {"norm", "rmsnorm"}} }

// gatedMLPs returns Hugging Face's names of the activation of a gated MLP.
func gatedMLPs([]parts.Activation) []name { return []name{{"silu", "swiglu"}, {"swish", "swiglu"}} }

// sharedKeys translates num_key_value_heads, of which absent means that no heads share keys and values.
func sharedKeys() link {
	return link{
		read: func(file, _ field.List) error {
			heads, groups := count(file, "num_attention_heads"), count(file, "num_key_value_heads")
			if groups == 0 {
				groups = heads
			}
			switch width := count(file, "hidden_size"); {
			case heads%groups != 0:
				return errors.Errorf("num_key_value_heads: got %d, want a divisor of num_attention_heads %d",
					groups, heads)
			case count(file, "head_dim") == 0 && width%heads != 0:
				return errors.Errorf("num_attention_heads: got %d, want a divisor of hidden_size %d", heads, width)
			}
			return parse(file, "num_key_value_heads", strconv.Itoa(groups))
		},
		write: func(file, _ field.List) error {
			if count(file, "num_key_value_heads") == 0 {
				return parse(file, "num_key_value_heads", shown(file, "num_attention_heads"))
			}
			return nil
		},
	}
}

// attentionBias returns the row of attention_bias: biases of queries, keys, values and the projection after the heads.
func attentionBias() row {
	return row{key: "attention_bias", value: false, fields: []string{"attention_bias"}}
}

// mlpBias returns the row of mlp_bias: biases of the matrices of the MLP.
func mlpBias() row { return row{key: "mlp_bias", value: false, fields: []string{"mlp_bias"}} }

// biased writes a network with biases in all linear layers, which its norms lack, as one with attention_bias and
// mlp_bias.
func biased() link {
	return link{write: func(file, network field.List) error {
		if shown(network, "bias") != "true" {
			return nil
		}
		for _, key := range []string{"attention_bias", "mlp_bias"} {
			if err := cmp.Or(parse(file, key, "true"), parse(network, key, "true")); err != nil {
				return err
			}
		}
		return parse(network, "bias", "false")
	}}
}

// llamaNames returns the names of the tensors of LLaMA. Its relatives have norms of queries and keys, or other norms.
func llamaNames() names {
	const block, attention = "layers.#.", "layers.#.self_attn."
	return names{
		prefix: "model.", written: "model.",
		rules: slices.Concat(
			threeProjections(attention),
			affine("h.#.attn.c_proj", attention+"o_proj"),
			affine("h.#.mlp.c_gate", block+"mlp.gate_proj"),
			affine("h.#.mlp.c_fc", block+"mlp.up_proj"),
			affine("h.#.mlp.c_proj", block+"mlp.down_proj"),
			[]rule{
				tensor("wte.weight", "embed_tokens.weight"),
				tensor("h.#.ln_1.weight", block+"input_layernorm.weight"),
				tensor("h.#.ln_2.weight", block+"post_attention_layernorm.weight"),
				tensor("ln_f.weight", "norm.weight"),
				matrix(HeadWeight, HeadWeight),
			}),
		buffers: []buffer{{"", "rotary_emb.inv_freq"}},
	}
}

// normed adds the names of norms of queries and keys, whose gains are in the order of the features.
func (n names) normed(q, k func(heads) []int) names {
	const attention = "layers.#.self_attn."
	n.rules = append(n.rules,
		tensor("h.#.attn.q_norm.weight", attention+"q_norm.weight").of(q),
		tensor("h.#.attn.k_norm.weight", attention+"k_norm.weight").of(k))
	return n
}
