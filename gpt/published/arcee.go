package published

import (
	"slices"
	"strings"
)

// arcee returns the family of Arcee (Arcee AI 2025): a LLaMA whose MLPs have no gate, with the square of a ReLU.
func arcee() family {
	list := llamaNames()
	list.rules = slices.DeleteFunc(list.rules, func(r rule) bool { return strings.Contains(r.ours, "c_gate") })
	sizes := llamaSizes{vocabulary: 32_000, context: 4096, inner: 18_432, width: 2560, eps: 1e-5}
	return family{
		modelType:     "arcee",
		architectures: []string{"ArceeForCausalLM"},
		rows: append(without(llamaRows(sizes), "hidden_act"),
			row{key: "hidden_act", value: "relu2", fields: []string{"activation"}, names: activationNames},
			attentionBias(), mlpBias()),
		same:      append(llamaSame(), setting{"attention", "gqa"}),
		links:     []link{sharedKeys(), fullLayers(), rotary(), biased()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}
