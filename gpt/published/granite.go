package published

import (
	"math"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// granite returns the family of Granite (IBM 2024): a LLaMA with factors on embeddings, scores, sublayers and logits.
func granite() family {
	factor := func(key string) row { return number(key, 1, field.Positive()).byLink() }
	return family{
		modelType:     "granite",
		architectures: []string{"GraniteForCausalLM"},
		rows: append(llamaRows(llamaSizes{vocabulary: 32_000, context: 2048, inner: 11_008}),
			attentionBias(), mlpBias(), factor("embedding_multiplier"),
			factor("attention_multiplier"), factor("residual_multiplier"), factor("logits_scaling")),
		same: append(llamaSame(), setting{"attention", "gqa"}),
		links: []link{
			sharedKeys(), fullLayers(), rotary(), linked("embedding_multiplier", "embedding_multiplier", 1),
			linked("residual_multiplier", "residual_multiplier", 1), linked("logits_scaling", "logits_scaling", 1),
			biased(), {readScoreFactor, writeScoreFactor},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames(),
	}
}

// headSize returns dρ of a file.
func headSize(file field.List) int {
	if n := count(file, "head_dim"); n > 0 {
		return n
	}
	return count(file, "hidden_size") / max(1, count(file, "num_attention_heads"))
}

// readScoreFactor reads attention_multiplier, which is the network's default if it is 1/√dρ.
func readScoreFactor(file, network field.List) error {
	m, err := strconv.ParseFloat(shown(file, "attention_multiplier"), 64)
	if err != nil {
		return errors.Wrap(err, "attention_multiplier")
	}
	if m == 1/math.Sqrt(float64(headSize(file))) {
		return nil
	}
	return parse(network, "attention_multiplier", plain(m))
}

// writeScoreFactor writes attention_multiplier.
func writeScoreFactor(file, network field.List) error {
	m := shown(network, "attention_multiplier")
	if m == "0" || m == "" {
		m = plain(1 / math.Sqrt(float64(headSize(file))))
	}
	return parse(file, "attention_multiplier", m)
}
