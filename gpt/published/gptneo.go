package published

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// gptNeo returns the family of GPT-Neo (Black et al. 2021), such as TinyStories: a GPT-2 with a window in every other
// block, scores that are not divided by √dρ, and no biases of queries, keys and values. Matrices are (out, in).
func gptNeo() family {
	return family{
		modelType:     "gpt_neo",
		architectures: []string{"GPTNeoForCausalLM"},
		rows: []row{
			size("vocab_size", 50_257, "vocab_size"),
			size("max_position_embeddings", 2048, "block_size"),
			size("hidden_size", 2048, "n_embd"),
			size("num_layers", 24, "n_layer"),
			size("num_heads", 16, "n_head"),
			inner("intermediate_size"),
			size("window_size", 256).byLink(),
			anyJSON("attention_types", `[[["global","local"],12]]`), object("attention_layers").onlyRead(),
			{key: "activation_function", value: "gelu_new", fields: []string{"activation"}, names: activationNames},
			number("layer_norm_epsilon", 1e-5, field.ProperFraction(), "eps"),
			{key: "tie_word_embeddings", value: true, fields: []string{"head"}, names: unbiasedHeads},
		},
		same:      []setting{{"bias", "true"}, {"attention", "alternating_proj_bias"}, {"attention_multiplier", "1"}},
		links:     []link{{readAttentionTypes, writeAttentionTypes}},
		harmless:  map[string][]string{onlyTraining: {"resid_dropout", "embed_dropout"}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names: names{
			prefix: "transformer.", written: "transformer.",
			rules:   neoRules(),
			buffers: []buffer{{"h.", ".attn.attention.bias"}, {"h.", ".attn.attention.masked_bias"}},
		},
	}
}

// neoRules returns the names of GPT-Neo's tensors that differ from ours.
func neoRules() []rule {
	const attention = "h.#.attn.attention."
	list := []rule{
		matrix("h.#.attn.c_attn.weight", attention+"q_proj.weight").of(queries),
		matrix("h.#.attn.c_attn.weight", attention+"k_proj.weight").of(keys),
		matrix("h.#.attn.c_attn.weight", attention+"v_proj.weight").of(values),
		matrix(HeadWeight, HeadWeight),
	}
	list = append(list, affine("h.#.attn.c_proj", attention+"out_proj")...)
	list = append(list, affine("h.#.mlp.c_fc", "h.#.mlp.c_fc")...)
	return append(list, affine("h.#.mlp.c_proj", "h.#.mlp.c_proj")...)
}

// readAttentionTypes reads the kinds of attention of the blocks: lists of kinds, each with the number of its
// repetitions.
func readAttentionTypes(file, network field.List) error {
	var types [][]any
	if err := field.UnmarshalPart(json.RawMessage(shown(file, "attention_types")), &types); err != nil {
		return errors.Wrap(err, "attention_types")
	}
	blocks, i := count(file, "num_layers"), 0
	refused := errors.Errorf("attention_types: got %s, want global and local in turn for num_layers %d blocks",
		field.Clip(shown(file, "attention_types")), blocks)
	for _, t := range types {
		if len(t) != 2 {
			return refused
		}
		kinds, _ := t[0].([]any)
		times, isNumber := t[1].(float64)
		if !isNumber || len(kinds) == 0 || times > float64(blocks) || times != math.Trunc(times) {
			return refused
		}
		for range int(times) {
			for _, kind := range kinds {
				if kind != []any{"global", "local"}[i%2] {
					return refused
				}
				i++
			}
		}
	}
	if i != blocks {
		return refused
	}
	if err := checkAttentionLayers(file, blocks); err != nil {
		return err
	}
	window := min(count(file, "window_size"), count(file, "max_position_embeddings"))
	return parse(network, "window", strconv.Itoa(window))
}

// checkAttentionLayers returns an error unless attention_layers, which other programs take instead of attention_types,
// has the same kinds.
func checkAttentionLayers(file field.List, blocks int) error {
	value := shown(file, "attention_layers")
	if value == "null" {
		return nil
	}
	kinds, err := list[string](value)
	for i, kind := range kinds {
		if kind != []string{"global", "local"}[i%2] {
			kinds = nil
			break
		}
	}
	if err != nil || len(kinds) != blocks {
		return errors.Errorf("attention_layers: got %s, want global and local in turn for num_layers %d blocks",
			field.Clip(value), blocks)
	}
	return nil
}

// writeAttentionTypes writes window_size and attention_types.
func writeAttentionTypes(file, network field.List) error {
	if window := count(network, "window"); window > 0 {
		if err := parse(file, "window_size", strconv.Itoa(window)); err != nil {
			return err
		}
	}
	types := []any{}
	blocks := count(file, "num_layers")
	if blocks > 1 {
		types = append(types, []any{[]string{"global", "local"}, blocks / 2})
	}
	if blocks%2 == 1 {
		types = append(types, []any{[]string{"global"}, 1})
	}
	data, err := json.Marshal(types)
	if err != nil {
		return err
	}
	return parse(file, "attention_types", string(data))
}
