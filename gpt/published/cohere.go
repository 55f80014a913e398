package published

import (
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// cohere returns the family of Command R (Cohere 2024): attention and a gated MLP in parallel after one norm without
// biases, logits times a constant, and LLaMA's names. Rotary positions rotate adjacent features.
func cohere() family {
	rows := llamaRows(llamaSizes{
		vocabulary: 256_000, context: 8192, inner: 22_528, width: 8192, blocks: 40, heads: 64, tied: true,
	})
	list := llamaNames()
	list.pairs = true
	return family{
		modelType:     "cohere",
		architectures: []string{"CohereForCausalLM"},
		rows: append(without(rows, "rms_norm_eps"), number("layer_norm_eps", 1e-5, field.ProperFraction(), "eps"),
			number("logit_scale", 0.0625, field.Positive()).byLink(), attentionBias(),
			fixed("use_qk_norm", false)),
		same: []setting{
			{"position", "rope"}, {"norm", "layernorm"}, {"attention", "gqa"}, {"block", "parallel"},
		},
		links:     []link{sharedKeys(), fullLayers(), rotary(), {readLogitScale, writeLogitScale}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}

// readLogitScale reads the factor on the logits, whose inverse is logits_scaling.
func readLogitScale(file, network field.List) error {
	scale, err := strconv.ParseFloat(shown(file, "logit_scale"), 64)
	if err != nil {
		return errors.Wrap(err, "logit_scale")
	}
	if scale == 1 {
		return nil
	}
	return parse(network, "logits_scaling", plain(1/scale))
}

// writeLogitScale writes the factor on the logits.
func writeLogitScale(file, network field.List) error {
	scaling, err := strconv.ParseFloat(shown(network, "logits_scaling"), 64)
	if err != nil {
		return errors.Wrap(err, "logits_scaling")
	}
	if scaling == 0 {
		scaling = 1
	}
	return parse(file, "logit_scale", plain(1/scaling))
}
