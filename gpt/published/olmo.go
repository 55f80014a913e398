package published

import (
	"slices"
	"strings"
)

// olmo returns the family of the first OLMo (Groeneveld et al. 2024): a LLaMA whose norms have a mean and no gains.
func olmo() family {
	list := llamaNames()
	list.rules = slices.DeleteFunc(list.rules, func(r rule) bool { return strings.Contains(r.ours, "ln_") })
	rows := llamaRows(llamaSizes{vocabulary: 50_304, context: 2048, inner: 11_008})
	return family{
		modelType:     "olmo",
		architectures: []string{"OlmoForCausalLM"},
		rows:          append(without(rows, "rms_norm_eps"), attentionBias()),
		same:          []setting{{"position", "rope"}, {"norm", "layernorm_plain"}, {"attention", "gqa"}},
		links:         []link{sharedKeys(), fullLayers(), rotary()},
		constants:     map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:         list,
	}
}

// olmo2 returns the family of OLMo 2 (OLMo et al. 2025): a LLaMA with norms after attention and MLP instead of before
// them, and norms of all queries and of all keys together.
func olmo2() family {
	const block = "layers.#."
	list := llamaNames().normed(allQueries, allKeys)
	for i, r := range list.rules {
		switch r.ours {
		case "h.#.ln_1.weight":
			list.rules[i].theirs = block + "post_attention_layernorm.weight"
		case "h.#.ln_2.weight":
			list.rules[i].theirs = block + "post_feedforward_layernorm.weight"
		}
	}
	return family{
		modelType:     "olmo2",
		architectures: []string{"Olmo2ForCausalLM"},
		rows: append(llamaRows(llamaSizes{vocabulary: 50_304, context: 2048, inner: 11_008, eps: 1e-5}),
			attentionBias()),
		same: append(llamaSame(), setting{"attention", "gqa"}, setting{"qk_norm", "width"},
			setting{"block", "post_part"}),
		links:     []link{sharedKeys(), fullLayers(), rotary()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}
