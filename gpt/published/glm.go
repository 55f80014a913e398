package published

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// glm returns the family of the first GLM-4 (GLM Team 2024): a LLaMA with biases of queries, keys and values, one
// matrix for the two inputs of the gated MLP, and rotary positions of half of the features, which rotate adjacent ones.
func glm() family {
	sizes := llamaSizes{
		vocabulary: 151_552, context: 131_072, inner: 13_696, blocks: 40, groups: 2, head: 128, eps: 1.5625e-7,
	}
	list := fusedMLP(llamaNames())
	list.pairs = true
	return family{
		modelType:     "glm",
		architectures: []string{"GlmForCausalLM"},
		rows: append(without(llamaRows(sizes), "partial_rotary_factor"), keysBias(),
			number("partial_rotary_factor", 0.5, field.Positive()).byLink()),
		same:      llamaSame(),
		links:     []link{sharedKeys(), fullLayers(), rotary()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}

// glm4 returns the family of GLM-4-0414 (GLM Team 2025): the first GLM-4 with norms before and after attention and MLP.
func glm4() family {
	const block = "layers.#."
	f := glm()
	f.modelType, f.architectures = "glm4", []string{"Glm4ForCausalLM"}
	f.same = append(f.same, setting{"block", "sandwich"})
	f.names.rules = append(slices.Clip(f.names.rules),
		tensor("h.#.ln_1_post.weight", block+"post_self_attn_layernorm.weight"),
		tensor("h.#.ln_2_post.weight", block+"post_mlp_layernorm.weight"))
	return f
}

// keysBias returns the row of attention_bias of GLM-4: biases of queries, keys and values alone.
func keysBias() row {
	return row{
		key: "attention_bias", value: true, fields: []string{"attention"},
		names: func([]parts.Activation) []name { return []name{{"true", "gqa_bias"}, {"false", "gqa"}} },
	}
}
