package published

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
)

// phi3 returns the family of Phi-3 (Abdin et al. 2024): a LLaMA with one matrix for queries, keys and values, and one
// for the two inputs of the gated MLP.
func phi3() Family {
	sizes := llamaSizes{vocabulary: 32_064, context: 4096, inner: 8192, width: 3072, eps: 1e-5}
	list := llamaNames()
	list.rules = slices.DeleteFunc(list.rules, func(r rule) bool {
		return strings.Contains(r.ours, "c_attn") || strings.HasSuffix(r.theirs, "gate_proj.weight") ||
			strings.HasSuffix(r.theirs, "up_proj.weight")
	})
	const block = "layers.#."
	gate := matrix("h.#.mlp.c_gate.weight", block+"mlp.gate_up_proj.weight")
	up := matrix("h.#.mlp.c_fc.weight", block+"mlp.gate_up_proj.weight")
	gate.parts, up.part, up.parts = 2, 1, 2
	packs := matrix("h.#.attn.c_attn.weight", block+"self_attn.qkv_proj.weight").of(packed)
	list.rules = append(list.rules, packs, gate, up)
	rows := without(llamaRows(sizes), "partial_rotary_factor")
	return Family{
		ModelType:     "phi3",
		architectures: []string{"Phi3ForCausalLM"},
		rows: append(rows, anyJSON("sliding_window", "null"),
			number("partial_rotary_factor", 1, field.Positive()).byLink(),
			fixed("attention_bias", false).onlyRead(), fixed("mlp_bias", false).onlyRead()),
		same:      llamaSame(),
		links:     []link{sharedKeys(), windows(0), rotary()},
		harmless:  []string{"resid_pdrop", "embd_pdrop", "original_max_position_embeddings"},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}
