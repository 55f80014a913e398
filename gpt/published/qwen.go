package published

import (
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// noWindows is the reason why the keys of windows change no logits.
const noWindows = "use_sliding_window is false"

// qwen2 returns the family of Qwen2 (Yang et al. 2024): a LLaMA with biases of queries, keys and values.
func qwen2() family {
	return family{
		modelType:     "qwen2",
		architectures: []string{"Qwen2ForCausalLM"},
		rows: append(llamaRows(llamaSizes{vocabulary: 151_936, context: 32_768, inner: 22_016}),
			fixed("mlp_bias", false).onlyRead(), fixed("use_sliding_window", false)),
		same:  append(llamaSame(), setting{"attention", "gqa_bias"}),
		links: []link{sharedKeys(), fullLayers(), rotary()},
		harmless: map[string][]string{
			noWindows: {"sliding_window", "max_window_layers"},
			"queries, keys and values have biases, whatever it says": {"attention_bias"},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames(),
	}
}

// qwen3 returns the family of Qwen3 (Qwen Team 2025): a LLaMA with norms of the queries and keys of every head, and
// optionally windows in some blocks.
func qwen3() family {
	sizes := llamaSizes{vocabulary: 151_936, context: 32_768, inner: 22_016, groups: 32, head: 128}
	return family{
		modelType:     "qwen3",
		architectures: []string{"Qwen3ForCausalLM"},
		rows: append(without(llamaRows(sizes), "layer_types"), attentionBias(),
			fixed("mlp_bias", false).onlyRead(), row{key: "use_sliding_window", value: false, linked: true},
			anyJSON("sliding_window", "4096"), number("max_window_layers", 28, field.Size(0)).byLink(),
			object("layer_types")),
		same:      append(llamaSame(), setting{"attention", "gqa"}, setting{"qk_norm", "head"}),
		links:     []link{sharedKeys(), {readSomeWindows, writeSomeWindows}, rotary()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames().normed(headGains, headGains),
	}
}

// readSomeWindows reads the windows of Qwen3: in the blocks that layer_types lists or, without it, in those from
// max_window_layers on, if use_sliding_window is true.
func readSomeWindows(file, network field.List) error {
	from, err := strconv.ParseFloat(shown(file, "max_window_layers"), 64)
	switch {
	case err != nil:
		return errors.Wrap(err, "max_window_layers")
	case shown(file, "use_sliding_window") == "false":
		return fullLayers().read(file, network)
	case shown(file, "layer_types") != "null":
		return readWindows(1, file, network)
	case from >= float64(count(file, "num_hidden_layers")):
		return nil
	case from > 0 && shown(file, "sliding_window") != "null":
		return errors.Errorf("max_window_layers: got %v, want 0 or num_hidden_layers %d: a network has windows in all "+
			"blocks except every k-th", from, count(file, "num_hidden_layers"))
	}
	return readWindows(0, file, network)
}

// writeSomeWindows writes the keys of Qwen3's windows, if there are any.
func writeSomeWindows(file, network field.List) error {
	if shown(network, "attention") != "gqa_window" {
		return nil
	}
	if err := parse(file, "use_sliding_window", "true"); err != nil {
		return err
	}
	return windows(1).write(file, network)
}
