package published

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
)

// phi returns the family of Phi-1 to Phi-2 (Gunasekar et al. 2023; Li et al. 2023): attention and MLP in parallel after
// one norm, rotary positions of a part of the features, and biases everywhere.
func phi() family {
	rows := llamaRows(llamaSizes{vocabulary: 51_200, context: 2048, inner: 8192, width: 2048, blocks: 24})
	return family{
		modelType:     "phi",
		architectures: []string{"PhiForCausalLM"},
		rows: append(without(rows, "hidden_act", "rms_norm_eps", "partial_rotary_factor"),
			row{key: "hidden_act", value: "gelu_new", fields: []string{"activation"}, names: activationNames},
			number("layer_norm_eps", 1e-5, field.ProperFraction(), "eps"),
			number("partial_rotary_factor", 0.5, field.Positive()).byLink(), fixed("qk_layernorm", false)),
		same:      []setting{{"position", "rope"}, {"norm", "layernorm"}, {"bias", "true"}, {"block", "parallel"}},
		links:     []link{sharedKeys(), fullLayers(), rotary(), {readPlain, writePlain}},
		harmless:  map[string][]string{onlyTraining: {"resid_pdrop", "embd_pdrop"}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		headBias:  true,
		names:     names{prefix: "model.", written: "model.", rules: phiRules()},
	}
}

// phiRules returns the names of Phi's tensors.
func phiRules() []rule {
	const block = "layers.#."
	list := []rule{tensor("wte.weight", "embed_tokens.weight")}
	list = append(list, threeProjections(block+"self_attn.")...)
	list = append(list, affine("h.#.attn.c_proj", block+"self_attn.dense")...)
	list = append(list, affine("h.#.mlp.c_fc", block+"mlp.fc1")...)
	list = append(list, affine("h.#.mlp.c_proj", block+"mlp.fc2")...)
	list = append(list, norm("h.#.ln_1", block+"input_layernorm")...)
	list = append(list, norm("ln_f", "final_layernorm")...)
	return append(list, affine("lm_head", "lm_head")...)
}

// phi3 returns the family of Phi-3 (Abdin et al. 2024): a LLaMA with one matrix for queries, keys and values, and one
// for the two inputs of the gated MLP.
func phi3() family {
	sizes := llamaSizes{vocabulary: 32_064, context: 4096, inner: 8192, width: 3072, eps: 1e-5}
	list := fusedMLP(llamaNames())
	list.rules = slices.DeleteFunc(list.rules, func(r rule) bool { return strings.Contains(r.ours, "c_attn") })
	list.rules = append(list.rules,
		matrix("h.#.attn.c_attn.weight", "layers.#.self_attn.qkv_proj.weight").of(packed))
	rows := without(llamaRows(sizes), "partial_rotary_factor")
	return family{
		modelType:     "phi3",
		architectures: []string{"Phi3ForCausalLM"},
		rows: append(rows, anyJSON("sliding_window", "null"),
			number("partial_rotary_factor", 1, field.Positive()).byLink(),
			size(originalKey, 4096).byLink()),
		same:      llamaSame(),
		links:     []link{sharedKeys(), windows(0), rotary(), originalContext()},
		harmless:  map[string][]string{onlyTraining: {"resid_pdrop", "embd_pdrop"}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}

// fusedMLP returns LLaMA's names with one matrix for the two inputs of the gated MLP, the gate first.
func fusedMLP(n names) names {
	n.rules = slices.DeleteFunc(n.rules, func(r rule) bool {
		return strings.HasSuffix(r.theirs, "gate_proj.weight") || strings.HasSuffix(r.theirs, "up_proj.weight")
	})
	gate := matrix("h.#.mlp.c_gate.weight", "layers.#.mlp.gate_up_proj.weight")
	up := matrix("h.#.mlp.c_fc.weight", "layers.#.mlp.gate_up_proj.weight")
	gate.parts, up.part, up.parts = 2, 1, 2
	n.rules = append(n.rules, gate, up)
	return n
}
